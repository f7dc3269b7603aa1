// The two shipped daemons at work with each other, as the kernel sees them from outside.

#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/seen/process_size.h"
#include "tests/support/seen/syscall_injector.h"

#include <gmock/gmock.h>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

namespace vfiogate::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr uid_t kPlugindUid = 64532;

/// plugind offers one device to a kubelet, so gRPC and its threads are there; privd told it so.
class LockedDown : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    start();
  }

  void start() {
    for (const char* name : {"", "plugind", "kubelet", "kubelet/device-plugins"}) {
      std::filesystem::create_directory(directory_ / name);
      chmod((directory_ / name).c_str(), 0777);  // plugind listens after it became nobody
    }
    std::ofstream(directory_ / "plugind.yaml") << "resources: [{select: {vendor: \"10de\"}}]\n";
    hardware_.add({.address = "0000:01:00.0"});
    kubelet_.emplace(directory_ / "kubelet");
    kubelet_->start();
    const std::map<std::string, std::string> environment{{"ASAN_OPTIONS", "detect_leaks=0"}};
    const std::string socket = directory_ / "plugind/plugind.sock";
    const std::vector<std::string> plugind{builtProgram("plugind"), "--listen", socket, "--config",
                                           directory_ / "plugind.yaml"};
    const std::vector<std::string> privd{builtProgram("privd-daemon"),
                                         "--plugind",
                                         socket,
                                         "--sysfs",
                                         hardware_.sysfs(),
                                         "--dev",
                                         hardware_.dev(),
                                         "--uevents",
                                         "off",
                                         "--state-dir",
                                         directory_ / "state",
                                         "--audit-log",
                                         directory_ / "state/audit.jsonl",
                                         "--kubelet-dir",
                                         directory_ / "kubelet"};
    plugind_ = std::make_unique<ChildProcess>(plugind, environment);
    privd_ = std::make_unique<ChildProcess>(privd, environment);
    ASSERT_TRUE(plugind_->says("event=frame_shown")) << plugind_->output() << privd_->output();
    ASSERT_THAT(childrenOf(privd_->pid()), SizeIs(2));
    ASSERT_NE(gate(), 0);
  }

  /// privd makes it first of all.
  pid_t forkServer() const { return childrenOf(privd_->pid()).at(0); }
  pid_t gate() const { return childRunning(privd_->pid(), "privd-gate"); }

  TempDir directory_;
  FakeSysfs hardware_;
  std::optional<sim::KubeletSim> kubelet_;
  std::unique_ptr<ChildProcess> plugind_;
  std::unique_ptr<ChildProcess> privd_;
};

TEST_F(LockedDown, NoThreadHasAnyPowerLeft) {
  EXPECT_THAT(lockdownFaults(privd_->pid()), IsEmpty());
  EXPECT_THAT(lockdownFaults(plugind_->pid()), IsEmpty());
}

TEST_F(LockedDown, PrivdIsRootWithOneThread) {
  EXPECT_THAT(identityFaults(privd_->pid(), 0), IsEmpty());
  EXPECT_THAT(threadStatuses(privd_->pid()), SizeIs(1));
}

TEST_F(LockedDown, PlugindIsNobodyInEachOfItsThreads) {
  EXPECT_THAT(identityFaults(plugind_->pid(), kPlugindUid), IsEmpty());
  EXPECT_THAT(threadStatuses(plugind_->pid()), SizeIs(testing::Gt(1)));
}

TEST_F(LockedDown, PlugindHoldsItsLockButNoFileAndNoDirectory) {
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), S_IFREG),
              testing::ElementsAre(testing::EndsWith("/state/plugind.lock")));
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), S_IFDIR), IsEmpty());
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), S_IFCHR), IsEmpty());
}

TEST_F(LockedDown, PrivdHoldsDirectoriesItsLockAndTheAuditLogButNoOtherFile) {
  auto files = descriptorsOfKind(privd_->pid(), S_IFREG);
  // Opened as a name alone, for the rule of Landlock.
  std::erase_if(files, [](const std::string& file) { return file.ends_with("/proc/swaps"); });
  EXPECT_THAT(files, testing::ElementsAre(testing::EndsWith("/state/lock"),
                                          testing::EndsWith("/audit.jsonl")));
  EXPECT_THAT(descriptorsOfKind(privd_->pid(), S_IFCHR), IsEmpty());
}

TEST_F(LockedDown, TheGateIsRootWithoutPowerAndWithOneThread) {
  const pid_t gate = this->gate();
  EXPECT_THAT(lockdownFaults(gate), IsEmpty());
  EXPECT_THAT(identityFaults(gate, 0), IsEmpty());
  EXPECT_THAT(threadStatuses(gate), SizeIs(1));
}

TEST_F(LockedDown, TheGateHoldsNoFileNoDeviceAndNothingOfWhatPrivdOpened) {
  EXPECT_THAT(descriptorsOfKind(gate(), S_IFREG), IsEmpty());
  EXPECT_THAT(descriptorsOfKind(gate(), S_IFCHR), IsEmpty());
  EXPECT_THAT(descriptorsOfKind(gate(), S_IFDIR),
              testing::Each(testing::HasSubstr(directory_ / "state")));
}

TEST_F(LockedDown, TheForkServerHasNoPowerAndNothingOfWhatPrivdOpened) {
  const pid_t forkServer = this->forkServer();
  EXPECT_THAT(lockdownFaults(forkServer), IsEmpty());
  EXPECT_THAT(identityFaults(forkServer, 0), IsEmpty());
  EXPECT_THAT(threadStatuses(forkServer), SizeIs(1));
  const auto held = openDescriptors(forkServer);
  ASSERT_THAT(held, SizeIs(3));
  EXPECT_EQ(held[0].kind, mode_t{S_IFSOCK});
  EXPECT_EQ(held[1].target, held[2].target);
  EXPECT_EQ(held[2].target, openDescriptors(privd_->pid())[2].target);
  const auto size = sizeOf(forkServer);
  if (kOwnAllocator) {
    EXPECT_LT(size.residentKib, 8192U) << size.str();
  }
}

/// Of a process that is not a child: its end.
class Watched {
public:
  explicit Watched(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~Watched() { close(fd_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool ends() const {
    pollfd ended{.fd = fd_, .events = POLLIN, .revents = 0};
    return fd_ >= 0 && poll(&ended, 1, 30'000) == 1;
  }

private:
  int fd_;
};

class EndingOfPrivd : public LockedDown, public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Signals, EndingOfPrivd, testing::Values(SIGTERM, SIGINT, SIGKILL));

TEST_P(EndingOfPrivd, EndsTheForkServerAndTheGate) {
  const Watched forkServer(this->forkServer());
  const Watched gate(this->gate());
  privd_->signal(GetParam());
  EXPECT_EQ(privd_->wait(), GetParam() == SIGKILL ? 128 + SIGKILL : 0);
  EXPECT_TRUE(forkServer.ends());
  EXPECT_TRUE(gate.ends());
}

class EndingOfTheGate : public LockedDown, public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Signals, EndingOfTheGate, testing::Values(SIGTERM, SIGINT, SIGKILL));

TEST_P(EndingOfTheGate, EndsPrivdWithAFailureForItsSupervisor) {
  const Watched forkServer(this->forkServer());
  const pid_t gate = this->gate();
  ASSERT_GT(gate, 0);
  kill(gate, GetParam());
  EXPECT_EQ(privd_->wait(), 1) << privd_->output();
  EXPECT_TRUE(privd_->says("privd-gate ended: start privd again")) << privd_->output();
  EXPECT_TRUE(forkServer.ends());
}

TEST_F(LockedDown, PrivdSaysThatTheForkServerIsGoneAndGoesOn) {
  kill(forkServer(), SIGKILL);
  EXPECT_TRUE(privd_->says("event=fork_server_gone")) << privd_->output();
  privd_->signal(SIGTERM);
  EXPECT_EQ(privd_->wait(), 0) << privd_->output();
}

TEST_F(LockedDown, EveryThreadIsUnderTheFilter) {
  for (const auto& [thread, status] : threadStatuses(plugind_->pid())) {
    SyscallInjector injector(thread);
    EXPECT_EQ(injector.inject({SYS_openat}), CallOutcome(Returned{-EACCES})) << "thread " << thread;
    EXPECT_EQ(injector.inject({SYS_clone3}), CallOutcome(Returned{-ENOSYS})) << "thread " << thread;
  }
}

TEST_F(LockedDown, AForbiddenActOfOneThreadEndsTheProcess) {
  const pid_t last = threadStatuses(plugind_->pid()).rbegin()->first;
  ASSERT_NE(last, plugind_->pid());
  EXPECT_EQ(SyscallInjector(last).inject({SYS_memfd_create}), CallOutcome(Killed{SIGSYS}));
  EXPECT_EQ(plugind_->wait(), 128 + SIGSYS);
}

TEST_F(LockedDown, AnAllowedActIsCarriedOutAndTheProcessesGoOn) {
  for (const auto& process : {privd_.get(), plugind_.get()}) {
    EXPECT_EQ(SyscallInjector(process->pid()).inject({SYS_getpid}),
              CallOutcome(Returned{process->pid()}));
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0) << process->output();
  }
}

}  // namespace
}  // namespace vfiogate::test
