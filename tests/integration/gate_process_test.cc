// privd-gate as it is shipped, started alone as in its container, and a played plugind.

#include "ipc/gate/gate_answers.h"
#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"
#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "tests/support/process_limits.h"

#include <gmock/gmock.h>
#include <kj/debug.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

namespace vfiogate::test {
namespace {

using Process = std::unique_ptr<ChildProcess>;

constexpr uid_t kPlugind = 64532;
constexpr int kPatienceMs = 10'000;

class GateProcess : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: the gate serves only as root";
    chmod(dir_.path().c_str(), 0711);
    for (const char* name : {"kubelet/device-plugins", "kubelet/pod-resources", "plugind"}) {
      std::filesystem::create_directories(dir_ / name);
    }
    chmod((dir_ / "plugind").c_str(), 0777);
  }

  Process gate(const std::vector<std::string>& more = {}, const std::string& state = "state") {
    std::vector<std::string> command{builtProgram("privd-gate"),
                                     "--plugind",
                                     dir_ / "plugind/plugind.sock",
                                     "--kubelet-dir",
                                     dir_ / "kubelet",
                                     "--state-dir",
                                     dir_ / state};
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<ChildProcess>(command, filteredEnvironment());
  }

  /// Only who listens has plugind's uid.
  kj::AutoCloseFd listenAs(uid_t uid) {
    KJ_SYSCALL(seteuid(uid));
    auto made = listenAt((dir_ / "plugind").c_str(), "plugind.sock", WhoMayConnect::kEverybody);
    KJ_SYSCALL(seteuid(0));
    return kj::mv(made).value();
  }

  static void await(int fd) {
    pollfd readable{fd, POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, kPatienceMs), 1) << "nothing came";
  }
  /// The channel that the gate opens.
  static kj::AutoCloseFd channelFrom(int listener) {
    await(listener);
    const auto connection = KJ_ASSERT_NONNULL(acceptFrom(listener));
    await(connection);
    auto received = receiveOpening(connection, kChannelVersion).value();
    auto& opening = KJ_ASSERT_NONNULL(received);
    EXPECT_EQ(opening.role, PrivdRole::kGate);
    return kj::mv(KJ_ASSERT_NONNULL(opening.channel));
  }
  static gate::FromGate next(int channel) {
    await(channel);
    auto packet = receivePacket(channel, gate::kLargestAnswer).value();
    return gate::decodeFromGate(KJ_ASSERT_NONNULL(packet).bytes).value();
  }
  static gate::Answer ask(int channel, const gate::Request& request) {
    KJ_ASSERT(sendPacket(channel, encode(request)) == PacketSent::kSent);
    return std::get<gate::Answer>(next(channel));
  }
  static std::uint64_t exclusionsTold(int channel) {
    const auto told = std::get<gate::Changed>(next(channel)).files.exclusions;
    KJ_ASSERT(sendPacket(channel, encode(gate::Request(gate::Seen{}))) == PacketSent::kSent);
    return told;
  }

  TempDir dir_;
};

TEST_F(GateProcess, ServesAPlugindThatComesLeavesAndComesBack) {
  const auto alone = gate();
  ASSERT_TRUE(alone->says("event=plugind_absent")) << alone->output();
  for (int turn = 0; turn < 3; ++turn) {
    const auto listener = listenAs(kPlugind);
    const auto channel = channelFrom(listener);
    EXPECT_EQ(ask(channel, gate::Enter{}).code, gate::Code::kDone) << alone->output();
    EXPECT_EQ(exclusionsTold(channel), 0U);
    EXPECT_EQ(ask(channel, gate::Listen{.name = "vfiogate.dev/gpu"}).code, gate::Code::kDone);
  }
  EXPECT_TRUE(alone->saysAll({"event=peer_gone"}, 3)) << alone->output();
  alone->signal(SIGTERM);
  EXPECT_EQ(alone->wait(), 0) << alone->output();
}

TEST_F(GateProcess, RefusesWhoIsNotPlugindAndServesTheNextOne) {
  const auto alone = gate();
  std::optional stranger = listenAs(1000);
  ASSERT_TRUE(alone->says("event=plugind_refused")) << alone->output();
  // As a socket of the gate's own would be.
  stranger = listenAs(0);
  ASSERT_TRUE(alone->says("uid=0 expected=64532")) << alone->output();
  const auto listener = listenAs(kPlugind);
  const auto channel = channelFrom(listener);
  EXPECT_EQ(ask(channel, gate::Enter{}).code, gate::Code::kDone) << alone->output();
}

TEST_F(GateProcess, TellsWhatAnOperatorExcludes) {
  const auto alone = gate();
  const auto listener = listenAs(kPlugind);
  const auto channel = channelFrom(listener);
  ask(channel, gate::Enter{});
  EXPECT_EQ(exclusionsTold(channel), 0U);
  std::ofstream(dir_ / "state/holds/0000:01:00.0") << "reason=mine\n";
  EXPECT_NE(exclusionsTold(channel), 0U);
  const auto listed = ask(channel, gate::List{gate::List::What::kExclusions, ""});
  EXPECT_EQ(std::get<gate::Exclusions>(listed.outcome).devices,
            std::vector<UnitId>{*Bdf::parse("0000:01:00.0")});
  EXPECT_TRUE(alone->says("event=exclusions devices=1")) << alone->output();
}

// A connection, the checkpoint, the record and the list need one each.
TEST_F(GateProcess, WithoutADescriptorRefusesWhatNeedsOneAndDoesItWhenItHasOne) {
  const auto kubelet =
      listenAt((dir_ / "kubelet/pod-resources").c_str(), "kubelet.sock", WhoMayConnect::kOwner)
          .value();
  std::ofstream(dir_ / "kubelet/device-plugins/kubelet_internal_checkpoint") << "{}";
  const std::vector<gate::Request> requests{
      gate::Dial{gate::Dial::Socket::kPodResources},
      gate::Open{gate::Open::File::kCheckpoint, ""},
      gate::Allocate{{*Bdf::parse("0000:01:00.0")}, "pod=mine"},
      gate::List{gate::List::What::kExclusions, ""},
  };
  // Before the gate is there: it hears of no file that changes, and tells of none unasked.
  const auto listener = listenAs(kPlugind);
  const auto alone = gate();
  const auto channel = channelFrom(listener);
  ask(channel, gate::Enter{});
  EXPECT_EQ(exclusionsTold(channel), 0U);
  // It has taken that it was seen when it answers.
  EXPECT_EQ(ask(channel, requests.back()).code, gate::Code::kDone);

  // It waits for four; ppoll() refuses to wait for more than the limit.
  constexpr rlim_t kAwaited = 4;
  const rlim_t before = limitDescriptors(alone->pid(), 0, kAwaited);
  for (const gate::Request& request : requests) {
    const auto refused = ask(channel, request);
    EXPECT_EQ(refused.code, gate::Code::kFailed) << request.index();
    EXPECT_EQ(refused.detail, EMFILE) << request.index();
  }
  EXPECT_TRUE(alone->says("event=record_failed")) << alone->output();
  limitDescriptors(alone->pid(), 0, before);
  for (const gate::Request& request : requests) {
    EXPECT_EQ(ask(channel, request).code, gate::Code::kDone) << request.index();
  }
  EXPECT_EQ(alone->count("event=peer_gone"), 0U) << alone->output();
}

TEST_F(GateProcess, ASecondOneWaitsAliveSaysForWhomAndThenServes) {
  auto first = gate();
  ASSERT_TRUE(first->says("event=locked_down")) << first->output();
  const auto second = gate();
  ASSERT_TRUE(second->says("event=instance_waits holder=\"pid=" + std::to_string(first->pid())))
      << second->output();
  EXPECT_EQ(second->count("event=locked_down"), 0U);
  first->signal(SIGKILL);
  first->wait();
  EXPECT_TRUE(second->says("event=locked_down")) << second->output();
  EXPECT_EQ(second->count("event=instance_waits"), 1U);
}

TEST_F(GateProcess, OneThatWaitsEndsWhenItIsTold) {
  const auto first = gate();
  ASSERT_TRUE(first->says("event=locked_down")) << first->output();
  const auto second = gate();
  ASSERT_TRUE(second->says("event=instance_waits")) << second->output();
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(), 0) << second->output();
}

TEST_F(GateProcess, TellsWhoStartedItThatItServesAndEndsWithIt) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  kj::AutoCloseFd ours(pair[0]);
  ASSERT_EQ(fcntl(ours, F_SETFD, FD_CLOEXEC), 0);
  const auto started = gate({"--ready-fd", std::to_string(pair[1])});
  close(pair[1]);
  await(ours);
  char ready = 1;
  EXPECT_EQ(read(ours, &ready, 1), 1) << started->output();
  EXPECT_TRUE(started->says("event=locked_down")) << started->output();
  ours = nullptr;
  EXPECT_EQ(started->wait(), 0) << started->output();
}

TEST_F(GateProcess, OneThatWaitsEndsWithWhoStartedIt) {
  const auto first = gate();
  ASSERT_TRUE(first->says("event=locked_down")) << first->output();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  kj::AutoCloseFd ours(pair[0]);
  ASSERT_EQ(fcntl(ours, F_SETFD, FD_CLOEXEC), 0);
  const auto second = gate({"--ready-fd", std::to_string(pair[1])});
  close(pair[1]);
  ASSERT_TRUE(second->says("event=instance_waits")) << second->output();
  ours = nullptr;
  EXPECT_EQ(second->wait(), 0) << second->output();
}

TEST_F(GateProcess, OptionsOfOtherRolesAreRefusedAndInAFileLeftOut) {
  const auto refused = gate({"--sysfs", "/sys"});
  EXPECT_EQ(refused->wait(), 2);
  EXPECT_TRUE(refused->says("'--sysfs' is no option of privd-gate")) << refused->output();
  std::ofstream(dir_ / "privd.conf") << "sysfs /sys\nlog-format json\n";
  const auto taken = gate({"--options", dir_ / "privd.conf"});
  EXPECT_TRUE(taken->says("\"event\":\"locked_down\"")) << taken->output();
}

}  // namespace
}  // namespace vfiogate::test
