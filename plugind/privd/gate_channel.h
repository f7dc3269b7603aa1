#pragma once
// plugind's end of the gate's channel.

#include "ipc/gate/gate_answers.h"
#include "plugind/base/task_queue.h"
#include "plugind/privd/gate_turns.h"
#include "plugind/privd/session_calls.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <optional>
#include <string>

namespace vfiogate {

/// Asks one question after the other. Ends the connection where the gate breaks the rules, leaves,
/// or takes longer than 10 s for an answer. The loop's thread only.
class ChannelToGate {
public:
  /// `calls` is borrowed, the rest is kept.
  ChannelToGate(kj::AutoCloseFd socket, SessionCalls& calls, const LoopDeps& loop);
  KJ_DISALLOW_COPY(ChannelToGate);

  /// Fails with the connection, and at once where the gate has not let us in.
  kj::Promise<GateReply> ask(const gate::Request& request);
  /// The question that comes before the others; true from then on lets them in.
  kj::Promise<GateReply> enter(const gate::Enter& request);
  void entered() { entered_ = true; }

  /// What there is of the files, then each time something else. The gate is told that we have seen
  /// it. One caller at a time.
  kj::Promise<gate::WatchedFiles> nextFiles();

private:
  kj::Promise<void> receiveForever();
  void receive();
  void send();
  void tellFiles();
  void hangUp(const std::string& why);

  const kj::AutoCloseFd socket_;
  SessionCalls& calls_;
  kj::Timer& timer_;
  kj::UnixEventPort::FdObserver readable_;
  GateTurns turns_;
  bool entered_ = false;
  bool over_ = false;
  std::optional<gate::WatchedFiles> files_;  ///< told, and not taken yet
  kj::Maybe<kj::Own<kj::PromiseFulfiller<gate::WatchedFiles>>> wanted_;
  kj::Promise<void> patience_ = nullptr;
  kj::Promise<void> receiving_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
