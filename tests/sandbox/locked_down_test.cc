// The two shipped daemons at work with each other, as the kernel sees them from outside.

#include "tests/support/child_process.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/kubelet_sim/kubelet_sim.h"
#include "tests/support/process_status.h"
#include "tests/support/syscall_injector.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>

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
    const std::vector<std::string> privd{builtProgram("privd"),
                                         "serve",
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

TEST_F(LockedDown, PrivdHoldsDirectoriesAndItsLockButNoFile) {
  EXPECT_THAT(descriptorsOfKind(privd_->pid(), S_IFREG),
              testing::ElementsAre(testing::EndsWith("/state/lock")));
  EXPECT_THAT(descriptorsOfKind(privd_->pid(), S_IFCHR), IsEmpty());
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
