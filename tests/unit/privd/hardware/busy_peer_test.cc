// A peer that owns its whole end of the connection: it always has something to read, or reads
// nothing. The hardware process serves on, and holds little for it.

#include "tests/support/played/raw_peer.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/live_heap.h"
#include "tests/unit/privd/hardware/served_rpc.h"

#include <capnp/serialize.h>
#include <kj/vector.h>

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kKiB = 1024;

/// A connection of the hardware process's, and its peer's end of it.
struct Line {
  Line(Node& node, kj::AsyncIoContext& io) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    connection = kj::heap<Connection>(
        node, io.lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(pair[0]), kStreamFlags));
    theirs = kj::AutoCloseFd(pair[1]);
  }

  kj::Own<Connection> connection;
  kj::AutoCloseFd theirs;
};

/// Messages that are taken and have no answer: nothing of the first export is given back.
kj::Array<kj::byte> releasesOfNothing() {
  capnp::MallocMessageBuilder message;
  auto release = message.initRoot<capnp::rpc::Message>().initRelease();
  release.setId(0);
  release.setReferenceCount(0);
  const auto one = capnp::messageToFlatArray(message);
  kj::Vector<kj::byte> many;
  while (many.size() < 16 * kKiB) many.addAll(one.asBytes());
  return many.releaseAsArray();
}

/// Writes such messages from another thread, as fast as they are taken, until it is destroyed or
/// 20 s are over.
class Flood {
public:
  explicit Flood(int fd) : writer_([this, fd]() { run(fd); }) {}
  ~Flood() {
    ended_ = true;
    writer_.join();
  }
  KJ_DISALLOW_COPY(Flood);

  /// How often it found the connection full.
  unsigned timesFull() const { return full_; }
  bool brokenOff() const { return broken_; }

private:
  void run(int fd) {
    const auto bytes = releasesOfNothing();
    const auto last = steady_clock::now() + seconds(20);
    std::size_t at = 0;  // a message that is cut is gone on with
    while (!ended_ && !broken_ && steady_clock::now() < last) {
      const auto sent =
          send(fd, bytes.begin() + at, bytes.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        at = (at + static_cast<std::size_t>(sent)) % bytes.size();
      } else if (errno == EAGAIN) {
        ++full_;
        std::this_thread::yield();
      } else {
        broken_ = true;
      }
    }
  }

  std::atomic<bool> ended_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<unsigned> full_ = 0;
  std::thread writer_;
};

class BusyPeer : public ServedRpc {
protected:
  ~BusyPeer() noexcept override = default;

  Node node_ = node();
};

TEST_F(BusyPeer, I10_WhoAlwaysHasSomethingToReadHoldsUpNeitherTimersNorOthers) {
  Line line(node_, io_);
  RawPeer(kj::AutoCloseFd(fcntl(line.theirs, F_DUPFD_CLOEXEC, 0))).bootstrap(0);
  poll();
  ServedPeer honest(node_, io_);
  const Flood flood(line.theirs);
  while (flood.timesFull() == 0 && !flood.brokenOff()) std::this_thread::yield();
  std::vector<steady_clock::duration> waits;
  for (int turn = 0; turn < 5; ++turn) {
    const auto began = steady_clock::now();
    io_.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
    honest.enter();
    waits.push_back(steady_clock::now() - began);
  }
  std::ranges::sort(waits);
  EXPECT_LT(waits[2], test::kOwnAllocator ? milliseconds(100) : milliseconds(1'000)) << "median";
  EXPECT_FALSE(flood.brokenOff()) << "it was hung up on, and so nobody was busy";
}

struct Silence {
  const char* name;
  std::function<void(RawPeer&, std::uint32_t question)> step;
};

void PrintTo(const Silence& silence, std::ostream* out) {
  *out << silence.name;
}

class NeverReads : public BusyPeer, public testing::WithParamInterface<Silence> {};

TEST_P(NeverReads, I10_IsHungUpOnBeforeItHasCostMuch) {
  ServedPeer honest(node_, io_);
  honest.enter();
  const std::size_t before = liveHeapBytes();
  std::size_t peak = before;
  std::string why;
  {
    Line line(node_, io_);
    RawPeer peer(kj::mv(line.theirs));
    auto ended = line.connection->ended()
                     .then([&why](std::string reason) { why = std::move(reason); })
                     .eagerlyEvaluate(nullptr);
    peer.enter();
    for (std::uint32_t i = 0; i < 60'000 && why.empty(); ++i) {
      GetParam().step(peer, RawPeer::kFirstFree + i);
      poll();
      peak = std::max(peak, liveHeapBytes());
    }
  }
  std::cout << "spent " << peak - before << " bytes: " << why << "\n";
  EXPECT_TRUE(why == "peer has more than 16 questions open" ||
              why == "peer leaves more than 32 messages unread")
      << why;
  EXPECT_LT(peak - before, 512 * kKiB);
  EXPECT_LT(liveHeapBytes(), before + 16 * kKiB) << "what it cost was not freed";
  honest.enter();
}

INSTANTIATE_TEST_SUITE_P(All, NeverReads,
                         testing::Values(Silence{"AsksForCounts",
                                                 [](RawPeer& peer, std::uint32_t question) {
                                                   peer.callDiscovery(question);
                                                   peer.finish(question, true);
                                                 }},
                                         Silence{"AsksWithoutFinish",
                                                 [](RawPeer& peer, std::uint32_t question) {
                                                   peer.callDiscovery(question);
                                                 }},
                                         Silence{"WatchesAnew",
                                                 [](RawPeer& peer, std::uint32_t question) {
                                                   peer.callWatch(question, question);
                                                   peer.finish(question, true);
                                                 }}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate
