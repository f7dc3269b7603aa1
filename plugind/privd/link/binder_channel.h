#pragma once
// plugind's end of the binder's channel.

#include "plugind/base/task_queue.h"
#include "plugind/privd/link/binder_turns.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <string>
#include <vector>

namespace vfiogate {

/// Is over where the binder breaks the rules or leaves; what was asked fails with DISCONNECTED
/// then. An answer may take as long as the kernel does. The loop's thread only.
class ChannelToBinder {
public:
  /// False: it makes no sense.
  using Take = kj::Function<bool(binder::Changed)>;

  /// `told` is called from within run().
  ChannelToBinder(kj::AutoCloseFd socket, Take told, const LoopDeps& loop);
  ~ChannelToBinder() noexcept(false);
  KJ_DISALLOW_COPY(ChannelToBinder);

  /// Carries the channel through; resolves when it is over, with the reason, for the log. Once.
  kj::Promise<std::string> run();

  /// `members`: ascending, all of the group.
  kj::Promise<binder::Answer> ask(DriverChange change, std::vector<Bdf> members);
  /// Whether somebody has the group open.
  kj::Promise<binder::Probed> probe(IommuGroupId group);
  /// Which serial number the card tells.
  kj::Promise<binder::SerialTold> serialOf(const Bdf& device);

private:
  kj::Promise<std::string> receiveForever();
  /// Empty: all that has come was taken. Else why the channel is over.
  std::string receive();
  std::string take(const std::string& packet);
  /// Sends what may go. False: the binder does not take it.
  bool send();

  const kj::AutoCloseFd socket_;
  Take told_;
  kj::UnixEventPort::FdObserver readable_;
  BinderTurns turns_;
  kj::PromiseFulfillerPair<std::string> over_ = kj::newPromiseAndFulfiller<std::string>();
};

}  // namespace vfiogate
