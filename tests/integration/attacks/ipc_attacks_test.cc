// Hostile peers on the privilege line: each is hung up on for the right reason before it has cost
// much, and nobody else notices. The same attacks without the meter show that it is the meter.

#include "ipc/codec/limits.h"
#include "tests/support/played/raw_peer.h"
#include "tests/support/played/rpc_server.h"
#include "tests/support/seen/live_heap.h"

#include <gtest/gtest.h>

#include <capnp/rpc-twoparty.h>

#include <algorithm>
#include <functional>
#include <iostream>

namespace vfiogate {
namespace {

constexpr std::size_t kKiB = 1024;

/// An honest peer, which enters again and again.
class HonestPeer {
public:
  HonestPeer(kj::AsyncIoContext& io, RpcServer& server)
      : stream_(io.lowLevelProvider->wrapSocketFd(server.connect(Metering::kOn))),
        network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
        rpc_(capnp::makeRpcClient(network_)) {
    capnp::MallocMessageBuilder vat;
    auto id = vat.initRoot<capnp::rpc::twoparty::VatId>();
    id.setSide(capnp::rpc::twoparty::Side::SERVER);
    listener_ = rpc_.bootstrap(id).castAs<schema::Handshake>();
  }

  bool isServed(kj::WaitScope& waitScope) {
    KJ_IF_MAYBE (handshake, listener_) {
      auto request = handshake->enterRequest();
      request.setProtocol(schema::PROTOCOL);
      return request.send().wait(waitScope).getAnswer().hasSession();
    }
    return false;
  }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  kj::Maybe<schema::Handshake::Client> listener_;
};

enum class Reads : std::uint8_t { kNever, kAll };

struct Attack {
  const char* name;
  Reads reads;
  /// One step of it; `question` is a number that no step used before.
  std::function<void(RawPeer&, std::uint32_t question)> step;
  Offence offence;
  /// What it may cost at most, with the meter.
  std::size_t boundBytes;
  /// What Cap'n Proto keeps of calls that still run when their connection has ended. In privd they
  /// end: by themselves, or with the connection (session_test).
  std::size_t keptBytes = 0;
};

void PrintTo(const Attack& attack, std::ostream* out) {
  *out << attack.name;
}

class HostilePeer : public testing::TestWithParam<Attack> {
protected:
  // KJ's destructors may throw, GoogleTest's must not.
  ~HostilePeer() noexcept override = default;
  void SetUp() override { ASSERT_TRUE(honest_.isServed(io_.waitScope)); }
  void TearDown() override {
    EXPECT_TRUE(honest_.isServed(io_.waitScope)) << "an honest peer suffers";
  }

  /// Attacks until the server hangs up, takes no more, or `bytes` of heap were spent. Returns what
  /// was spent at the peak.
  std::size_t attack(Metering metering, std::size_t bytes) {
    constexpr std::uint32_t kSteps = 60'000;
    RawPeer peer(server_.connect(metering));
    io_.waitScope.poll();
    const std::size_t before = liveHeapBytes();
    std::size_t peak = before;
    peer.enter();
    for (std::uint32_t i = 0; i < kSteps && server_.ended() == 0; ++i) {
      if (peer.refused() || peak - before > bytes) break;
      GetParam().step(peer, RawPeer::kFirstFree + i);
      io_.waitScope.poll();
      if (GetParam().reads == Reads::kAll) peer.drain();
      peak = std::max(peak, liveHeapBytes());
    }
    return peak - before;
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  RpcServer server_{io_};
  HonestPeer honest_{io_, server_};
};

TEST_P(HostilePeer, IsHungUpOnBeforeItHasCostMuch) {
  const std::size_t before = liveHeapBytes();
  const std::size_t spent = attack(Metering::kOn, ~std::size_t{0});
  std::cout << "spent " << spent << " bytes\n";
  EXPECT_EQ(server_.offence(), GetParam().offence);
  EXPECT_EQ(server_.ended(), 1);
  EXPECT_LT(spent, GetParam().boundBytes);
  // What a library keeps for its next use; malloc's own share included, 10 KiB in a release build.
  EXPECT_LT(liveHeapBytes(), before + GetParam().keptBytes + 16 * kKiB)
      << "hanging up did not free what the peer held";
}

TEST_P(HostilePeer, CostsMoreWithoutTheMeter) {
  const std::size_t spent = attack(Metering::kOff, GetParam().boundBytes);
  std::cout << "spent " << spent << " bytes\n";
  EXPECT_GE(spent, GetParam().boundBytes);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, HostilePeer,
    testing::Values(Attack{"MintsWithoutFinish", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) { peer.callEnter(q); },
                           Offence::kTooManyQuestions, 256 * kKiB},
                    Attack{"MintsAndKeepsWhatItFinishes", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) {
                             peer.callEnter(q);
                             peer.finish(q, false);
                           },
                           Offence::kHoards, 10'240 * kKiB},
                    Attack{"LargeAnswersWithoutFinish", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) { peer.callReread(q); },
                           Offence::kTooManyQuestions, 2'048 * kKiB},
                    Attack{"LargeAnswersUnread", Reads::kNever,
                           [](RawPeer& peer, std::uint32_t q) { peer.callReread(q); },
                           Offence::kTooManyQuestions, 2'048 * kKiB},
                    Attack{"LargeAnswersFinishedUnread", Reads::kNever,
                           [](RawPeer& peer, std::uint32_t q) {
                             peer.callReread(q);
                             peer.finish(q, true);
                           },
                           Offence::kTooManyQuestions, 2'048 * kKiB},
                    Attack{"WatchesAnewUnread", Reads::kNever,
                           [](RawPeer& peer, std::uint32_t q) {
                             peer.callReread(q);
                             peer.callWatch(q + 1'000'000, q);
                           },
                           Offence::kTooManyQuestions, 2'048 * kKiB},
                    Attack{"BootstrapsWithoutFinish", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) { peer.bootstrap(q); },
                           Offence::kTooManyQuestions, 256 * kKiB},
                    Attack{"CallsThatNeverReturn", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) { peer.callDiscovery(q); },
                           Offence::kTooManyQuestions, 256 * kKiB, 32 * kKiB},
                    Attack{"CallsThatNeverReturnFinished", Reads::kAll,
                           [](RawPeer& peer, std::uint32_t q) {
                             peer.callDiscovery(q);
                             peer.finish(q, true);
                           },
                           Offence::kTooManyQuestions, 256 * kKiB, 32 * kKiB},
                    Attack{"UnknownMessagesUnread", Reads::kNever,
                           [](RawPeer& peer, std::uint32_t /*q*/) {
                             peer.send(
                                 [](auto message) { message.initProvide().setQuestionId(9); });
                           },
                           Offence::kUnusedMessage, 256 * kKiB}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate
