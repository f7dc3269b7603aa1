#pragma once
// privd's gate as a played privd keeps it: the kubelet's directory, claims' specs, allocations.

#include "ipc/gate/gate_answers.h"
#include "tests/support/played/fake_privd_rpc.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/io.h>
#include <kj/timer.h>

#include <optional>

namespace vfiogate::test {

/// An answer, with the descriptor that goes with it.
struct PlayedAnswer {
  gate::Answer answer;
  kj::Maybe<kj::AutoCloseFd> fd;
};

/// `detail`: an errno.
PlayedAnswer refused(gate::Code code, int detail = 0);

/// One channel's end. Answers each packet before it reads the next. privd's thread only.
class PlayedGate {
public:
  /// `play` is borrowed.
  PlayedGate(Play& play, kj::UnixEventPort& port, kj::AutoCloseFd channel);

  /// Resolves when plugind has hung up.
  kj::Promise<void> ended() { return kj::mv(ended_.promise); }

  /// Tells of the files if they are others than were told, and those were seen.
  void tellNewFiles();

private:
  kj::Promise<void> serve();
  void answer(const gate::Request& request);

  Play& play_;
  kj::AutoCloseFd channel_;
  kj::UnixEventPort::FdObserver readable_;
  kj::Timer& timer_;
  bool entered_ = false;
  bool awaitsSeen_ = false;
  std::optional<gate::WatchedFiles> told_;
  kj::PromiseFulfillerPair<void> ended_ = kj::newPromiseAndFulfiller<void>();
  kj::Promise<void> serving_;  // last: it uses all of the above
};

}  // namespace vfiogate::test
