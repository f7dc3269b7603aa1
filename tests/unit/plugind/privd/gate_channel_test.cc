// plugind's end of the gate's channel, where the gate takes its time.

#include "plugind/privd/gate_channel.h"

#include "ipc/gate/packet_socket.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <memory>
#include <random>
#include <string>

namespace vfiogate {
namespace {

class GateChannelTest : public testing::Test {
protected:
  ~GateChannelTest() noexcept override = default;

  void SetUp() override {
    int ends[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    gate_ = kj::AutoCloseFd(ends[0]);
    channel_ = kj::heap<ChannelToGate>(
        kj::AutoCloseFd(ends[1]), calls_,
        LoopDeps{io_.unixEventPort, *io_.lowLevelProvider, timer_, nullptr, random_});
  }
  void settle() { kj::Promise<void>(kj::NEVER_DONE).poll(io_.waitScope); }
  void answer() {
    const gate::Answer refusal{.code = gate::Code::kFailed, .detail = 5};
    ASSERT_EQ(sendPacket(gate_, gate::encode(gate::FromGate(refusal))), PacketSent::kSent);
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  std::mt19937 random_{1};
  SessionCalls calls_;
  kj::AutoCloseFd gate_;
  kj::Own<ChannelToGate> channel_;
};

TEST_F(GateChannelTest, I3_AnAnswerThatTakes10sEndsTheConnection) {
  auto over = calls_.over();
  auto asked = channel_->enter({});
  settle();
  timer_.advanceTo(timer_.now() + 9 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
  timer_.advanceTo(timer_.now() + 1 * kj::SECONDS);
  ASSERT_TRUE(over.poll(io_.waitScope));
  EXPECT_EQ(over.wait(io_.waitScope), "its gate does not answer");
}

// The loop sees the clock before it sees what came meanwhile.
TEST_F(GateChannelTest, AnAnswerThatCameWhileWeWereFrozenEndsNothing) {
  auto over = calls_.over();
  auto asked = channel_->enter({});
  settle();
  answer();
  timer_.advanceTo(timer_.now() + 60 * kj::SECONDS);
  EXPECT_FALSE(over.poll(io_.waitScope));
  EXPECT_EQ(asked.wait(io_.waitScope).answer.detail, 5);
}

}  // namespace
}  // namespace vfiogate
