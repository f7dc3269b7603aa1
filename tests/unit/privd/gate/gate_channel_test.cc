// An answer whose descriptor the kernel does not take: any process of root's can make it say
// ETOOMANYREFS for a while.

#include "privd/gate/gate_channel.h"

#include "tests/unit/privd/gate/served_gate.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using gate::Code;

class GateChannelTest : public ServedGate {
protected:
  ~GateChannelTest() noexcept override = default;

  /// What `act` returns in a child that may have no more descriptors under way than it has.
  static int crowded(const std::function<int()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
      const rlimit few{64, 64};
      const bool limited =
          syscall(SYS_capset, &header, none) == 0 && setrlimit(RLIMIT_NOFILE, &few) == 0;
      _exit(limited ? act() : 99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// More than those 64, until they are read.
  void sendMany() {
    for (int i = 0; i < 80; ++i) {
      ASSERT_TRUE(sendPacket(crowd_.ours, "x", crowd_.ours) == PacketSent::kSent);
    }
  }
  void readMany() {
    for (int i = 0; i < 80; ++i) KJ_ASSERT(receivePacket(crowd_.theirs, 1).has_value());
  }

  /// The code of the answer that is there, and whether it has a descriptor; null: none is there.
  std::optional<std::pair<Code, bool>> arrived() {
    auto received = receivePacket(peer_.ours, gate::kLargestAnswer);
    if (!received) return std::nullopt;
    auto packet = kj::mv(received).value();
    KJ_IF_MAYBE (one, packet) {
      const auto message = gate::decodeFromGate(one->bytes);
      return std::pair(std::get<gate::Answer>(*message).code, one->fd != nullptr);
    }
    return std::nullopt;
  }

  PacketPair crowd_ = packetPair().value();
  PacketPair peer_ = packetPair().value();
  GateChannel channel_{*service_, kj::mv(peer_.theirs)};
  const GateChannel::Clock::time_point begin_{};
};

TEST_F(GateChannelTest, IsSentAgainUntilTheKernelTakesIt) {
  sendMany();
  EXPECT_EQ(crowded([this]() {
              sendPacket(peer_.ours, encode(gate::Request(gate::Enter{})));
              if (channel_.receive(begin_)) return 1;
              if (arrived() || channel_.due() != begin_ + 50ms) return 2;
              if (channel_.sendAgain(begin_ + 49ms) || channel_.due() != begin_ + 50ms) return 3;
              if (channel_.sendAgain(begin_ + 50ms) || channel_.due() != begin_ + 100ms) return 4;
              readMany();
              if (channel_.sendAgain(begin_ + 100ms) || channel_.due()) return 5;
              return arrived() == std::pair(Code::kDone, true) ? 0 : 6;
            }),
            0);
}

TEST_F(GateChannelTest, IsGivenUpAfterTwoSeconds) {
  sendMany();
  EXPECT_EQ(crowded([this]() {
              sendPacket(peer_.ours, encode(gate::Request(gate::Enter{})));
              if (channel_.receive(begin_)) return 1;
              for (auto now = begin_; now < begin_ + 2s; now += 50ms) {
                if (channel_.sendAgain(now) || !channel_.due()) return 2;
              }
              if (channel_.sendAgain(begin_ + 2s) || channel_.due()) return 3;
              if (arrived() != std::pair(Code::kFailed, false)) return 4;
              if (!lease_.isFree()) return 5;
              sendPacket(peer_.ours, encode(gate::Request(gate::Adopted{})));
              return channel_.receive(begin_ + 2s) ? 0 : 6;  // it has not entered
            }),
            0);
}

}  // namespace
}  // namespace vfiogate::test
