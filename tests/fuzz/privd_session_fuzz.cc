// Whatever bytes a peer sends the servers of privd's hardware process: they outlive it.

#include "ipc/socket/stream_flags.h"
#include "privd/hardware/connection.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/played/raw_peer.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

namespace vfiogate {
namespace {

/// One for all inputs: what a peer leaves behind the next one meets.
class Served {
public:
  Served() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    source_.emplace(io_.provider->getTimer(), 1, Rescan::mostlyGlances(10 * kj::SECONDS),
                    scanDeps(sysfs_, dev_), counts_);
  }

  void takeFrom(kj::ArrayPtr<const kj::byte> bytes) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    kj::AutoCloseFd ours(pair[0]);
    RawPeer peer{kj::AutoCloseFd(pair[1])};
    Node node{KJ_ASSERT_NONNULL(source_), counts_, sysfs_, dev_, io_.provider->getTimer()};
    Connection connection(node, io_.lowLevelProvider->wrapSocketFd(kj::mv(ours), kStreamFlags));
    auto ended = connection.ended().eagerlyEvaluate(nullptr);
    peer.sendBytes(bytes);
    io_.waitScope.poll();
    peer.drain();
    io_.waitScope.poll();
  }

private:
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  DiscoveryCounts counts_;
  kj::Maybe<SnapshotSource> source_;
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static vfiogate::Served served;
  served.takeFrom(kj::arrayPtr(data, size));
  return 0;
}
