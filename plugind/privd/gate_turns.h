#pragma once
// Whose turn it is on the gate's channel: one question on its way, the others in a row.

#include "ipc/base/result.h"
#include "ipc/gate/gate_answers.h"

#include <kj/async.h>
#include <kj/io.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// An answer, with the descriptor that came in its packet.
struct GateReply {
  gate::Answer answer;
  kj::Maybe<kj::AutoCloseFd> fd;
};

/// Knows no socket. The loop's thread only.
class GateTurns {
public:
  /// Puts the question in the row. A caller that drops the promise while it waits is skipped.
  kj::Promise<GateReply> ask(const gate::Request& request);

  /// The packet to send now, which is on its way from then on. Absent: nothing is asked, or the
  /// answer to another one is awaited.
  std::optional<std::string> next();

  /// Takes what the gate sent; an answer goes to whoever asked. Returns what it tells unasked.
  /// Error: in words: it is no message, or answers nothing.
  Result<std::optional<gate::Changed>, std::string> take(std::string_view packet,
                                                         kj::Maybe<kj::AutoCloseFd> fd);

  /// Whether an answer is awaited.
  bool awaits() const { return awaited_.get() != nullptr; }

  /// Fails all that was asked.
  void end(const kj::Exception& why);

private:
  using Answered = kj::Own<kj::PromiseFulfiller<GateReply>>;
  struct Question {
    std::string packet;
    Answered answered;
  };

  std::deque<Question> row_;
  Answered awaited_;
};

}  // namespace vfiogate
