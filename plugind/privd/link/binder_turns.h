#pragma once
// What is asked over the binder's channel: up to eight changes, probes and serial numbers at a
// time, one of each a group or card, the others in a row.

#include "ipc/base/result.h"
#include "ipc/binder/binder_packets.h"

#include <kj/async.h>
#include <kj/one-of.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

enum class DriverChange : std::uint8_t { kBind, kGiveBack };

/// Knows no socket. The loop's thread only.
class BinderTurns {
public:
  /// Puts the question in the row. A caller that drops the promise while it waits is skipped.
  /// `members`: ascending, all of the group.
  kj::Promise<binder::Answer> ask(DriverChange change, std::vector<Bdf> members);
  kj::Promise<binder::Probed> probe(IommuGroupId group);
  kj::Promise<binder::SerialTold> serialOf(const Bdf& device);

  /// The packet to send now, which is on its way from then on. Absent: nothing that waits may go.
  std::optional<std::string> next();

  /// How many are in the row: on their way they are not yet.
  std::size_t waiting() const { return row_.size(); }

  /// Takes what the binder sent; an answer goes to whoever asked. Returns what it tells unasked.
  /// Error: in words: it is no message, or answers nothing that was asked so.
  Result<std::optional<binder::Changed>, std::string> take(std::string_view packet);

  /// Fails all that was asked.
  void end(const kj::Exception& why);

private:
  using Answered = kj::Own<kj::PromiseFulfiller<binder::Answer>>;
  using WasProbed = kj::Own<kj::PromiseFulfiller<binder::Probed>>;
  using WasTold = kj::Own<kj::PromiseFulfiller<binder::SerialTold>>;

  struct Question {
    binder::Request request;  ///< its number is given when it is sent
    kj::OneOf<Answered, WasProbed, WasTold> asker;

    /// Whoever asked still wants the answer.
    bool isWaiting();
    /// No answer comes.
    void reject(const kj::Exception& why);
  };

  /// Whether such a question about the same devices, or the same group's node, is on its way.
  bool clashes(const binder::Request& request) const;
  template <typename Asker, typename Answer>
  Result<std::optional<binder::Changed>, std::string> answer(Answer answer);

  std::deque<Question> row_;
  std::map<std::uint32_t, Question> awaited_;  ///< by number
  std::uint32_t lastNumber_ = 0;
};

}  // namespace vfiogate
