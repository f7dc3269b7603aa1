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
                                         "--socket",
                                         directory_ / "privd.sock",
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
  }

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

TEST_F(LockedDown, TheForkServerHasNoPowerAndNothingOfWhatPrivdOpened) {
  const auto children = childrenOf(privd_->pid());
  ASSERT_THAT(children, SizeIs(1));
  EXPECT_THAT(lockdownFaults(children[0]), IsEmpty());
  EXPECT_THAT(identityFaults(children[0], 0), IsEmpty());
  EXPECT_THAT(threadStatuses(children[0]), SizeIs(1));
  const auto held = openDescriptors(children[0]);
  ASSERT_THAT(held, SizeIs(3));
  EXPECT_EQ(held[0].kind, mode_t{S_IFSOCK});
  EXPECT_EQ(held[1].target, held[2].target);
  EXPECT_EQ(held[2].target, openDescriptors(privd_->pid())[2].target);
  const auto size = sizeOf(children[0]);
  if (kOwnAllocator) {
    EXPECT_LT(size.residentKib, 8192U) << size.str();
  }
}

class EndingOfPrivd : public LockedDown, public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Signals, EndingOfPrivd, testing::Values(SIGTERM, SIGINT, SIGKILL));

TEST_P(EndingOfPrivd, EndsTheForkServer) {
  const auto children = childrenOf(privd_->pid());
  ASSERT_THAT(children, SizeIs(1));
  const int watched = static_cast<int>(syscall(SYS_pidfd_open, children[0], 0));
  ASSERT_GE(watched, 0);
  privd_->signal(GetParam());
  EXPECT_EQ(privd_->wait(), GetParam() == SIGKILL ? 128 + SIGKILL : 0);
  pollfd ended{.fd = watched, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 30'000), 1);
  close(watched);
}

TEST_F(LockedDown, PrivdSaysThatTheForkServerIsGoneAndGoesOn) {
  const auto children = childrenOf(privd_->pid());
  ASSERT_THAT(children, SizeIs(1));
  kill(children[0], SIGKILL);
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
