// The shipped daemons at work with each other, as the kernel sees them from outside.

#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/process_size.h"
#include "tests/support/seen/syscall_injector.h"

#include <gmock/gmock.h>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr uid_t kPlugindUid = 64532;

/// What privd's daemon starts, and as whom.
const std::map<std::string, uid_t> kPrivdRoles{
    {"privd-hardware", 64531}, {"privd-gate", 0}, {"privd-binder", 0}};

std::vector<std::string> targetsOf(pid_t pid, mode_t kind) {
  std::vector<std::string> found;
  for (const OpenDescriptor& open : openDescriptors(pid)) {
    if (open.kind == kind) found.push_back(open.target);
  }
  return found;
}

/// So many, once what is under way has been handed over or closed.
void expectSockets(pid_t pid, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (targetsOf(pid, S_IFSOCK).size() != count && std::chrono::steady_clock::now() < end) {
    poll(nullptr, 0, 10);
  }
  EXPECT_THAT(targetsOf(pid, S_IFSOCK), SizeIs(count));
}

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
    const auto environment = filteredEnvironment();
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
                                         directory_ / "kubelet",
                                         "--plugind-rights",
                                         "watch,kubelet,bind"};
    plugind_ = std::make_unique<ChildProcess>(plugind, environment);
    privd_ = std::make_unique<ChildProcess>(privd, environment);
    ASSERT_TRUE(plugind_->says("event=frame_shown")) << plugind_->output() << privd_->output();
    ASSERT_TRUE(privd_->says("event=started role=daemon")) << privd_->output();
    ASSERT_THAT(childrenOf(privd_->pid()), SizeIs(3));
    for (const auto& [name, uid] : kPrivdRoles) ASSERT_NE(role(name), 0) << name;
  }

  pid_t role(const std::string& program) const { return childRunning(privd_->pid(), program); }
  pid_t gate() const { return role("privd-gate"); }
  pid_t binder() const { return role("privd-binder"); }
  pid_t forkServer() const { return childrenOf(binder()).at(0); }

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

TEST_F(LockedDown, PrivdsDaemonIsRootWithOneThreadAndHoldsNoFile) {
  EXPECT_THAT(identityFaults(privd_->pid(), 0), IsEmpty());
  EXPECT_THAT(threadStatuses(privd_->pid()), SizeIs(1));
  EXPECT_THAT(descriptorsOfKind(privd_->pid(), {S_IFREG, S_IFDIR, S_IFCHR}), IsEmpty());
}

TEST_F(LockedDown, EachOfPrivdsRolesIsItsUserWithoutPowerAndWithOneThread) {
  for (const auto& [name, uid] : kPrivdRoles) {
    const pid_t pid = role(name);
    EXPECT_THAT(lockdownFaults(pid), IsEmpty()) << name;
    EXPECT_THAT(identityFaults(pid, uid), IsEmpty()) << name;
    EXPECT_THAT(threadStatuses(pid), SizeIs(1)) << name;
  }
}

TEST_F(LockedDown, PlugindIsNobodyInEachOfItsThreads) {
  EXPECT_THAT(identityFaults(plugind_->pid(), kPlugindUid), IsEmpty());
  EXPECT_THAT(threadStatuses(plugind_->pid()), SizeIs(testing::Gt(1)));
}

TEST_F(LockedDown, PlugindHoldsItsLockButNoFileAndNoDirectory) {
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), {S_IFREG}),
              testing::ElementsAre(testing::EndsWith("/state/plugind.lock")));
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), {S_IFDIR}), IsEmpty());
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), {S_IFCHR}), IsEmpty());
}

TEST_F(LockedDown, TheBinderHoldsDirectoriesItsLockAndTheAuditLogButNoOtherFile) {
  auto files = descriptorsOfKind(binder(), {S_IFREG});
  // Opened as a name alone, for the rule of Landlock.
  std::erase_if(files, [](const std::string& file) { return file.ends_with("/proc/swaps"); });
  EXPECT_THAT(files, testing::ElementsAre(testing::EndsWith("/state/lock"),
                                          testing::EndsWith("/audit.jsonl")));
  EXPECT_THAT(descriptorsOfKind(binder(), {S_IFCHR}), IsEmpty());
  const std::string state = directory_ / "state";
  EXPECT_THAT(targetsOf(binder(), S_IFDIR),
              UnorderedElementsAre(hardware_.sysfs(), hardware_.dev(), state,
                                   state,  // the audit log's
                                   state + "/bindings", state + "/holds", state + "/declared",
                                   state + "/devices"));
  expectSockets(binder(), 3);  // to the daemon, the fork server and plugind
}

TEST_F(LockedDown, TheHardwareProcessHoldsDirectoriesOfTheHostsAndNoFile) {
  const pid_t hardware = role("privd-hardware");
  EXPECT_THAT(descriptorsOfKind(hardware, {S_IFREG}), IsEmpty());
  EXPECT_THAT(descriptorsOfKind(hardware, {S_IFCHR}), IsEmpty());
  EXPECT_THAT(targetsOf(hardware, S_IFDIR),
              UnorderedElementsAre(hardware_.sysfs(), hardware_.dev()));
  expectSockets(hardware, 2);  // to the daemon and to plugind
}

TEST_F(LockedDown, TheGateHoldsItsLockNoDeviceAndNothingOfTheHosts) {
  EXPECT_THAT(descriptorsOfKind(gate(), {S_IFREG}),
              testing::ElementsAre(testing::EndsWith("/state/gate.lock")));
  EXPECT_THAT(descriptorsOfKind(gate(), {S_IFCHR}), IsEmpty());
  const std::string state = directory_ / "state";
  EXPECT_THAT(targetsOf(gate(), S_IFDIR), UnorderedElementsAre(state, state + "/devices"));
  expectSockets(gate(), 2);  // to the daemon and to plugind
}

TEST_F(LockedDown, TheForkServerHasNoPowerAndNothingOfWhatTheBinderOpened) {
  const pid_t forkServer = this->forkServer();
  EXPECT_THAT(lockdownFaults(forkServer), IsEmpty());
  EXPECT_THAT(identityFaults(forkServer, 0), IsEmpty());
  EXPECT_THAT(threadStatuses(forkServer), SizeIs(1));
  const auto held = openDescriptors(forkServer);
  ASSERT_THAT(held, SizeIs(3));
  EXPECT_EQ(held[0].kind, mode_t{S_IFSOCK});
  EXPECT_EQ(held[1].target, held[2].target);
  EXPECT_EQ(held[2].target, openDescriptors(binder())[2].target);
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

TEST_P(EndingOfPrivd, EndsItsRolesAndTheForkServer) {
  const Watched forkServer(this->forkServer());
  std::map<std::string, Watched> roles;
  for (const auto& [name, uid] : kPrivdRoles) roles.emplace(name, role(name));
  privd_->signal(GetParam());
  EXPECT_EQ(privd_->wait(), GetParam() == SIGKILL ? 128 + SIGKILL : 0);
  EXPECT_TRUE(forkServer.ends());
  for (const auto& [name, process] : roles) EXPECT_TRUE(process.ends()) << name;
}

struct RoleEnds {
  std::string role;
  int signal;
};
void PrintTo(const RoleEnds& ends, std::ostream* out) {
  *out << ends.role << " by " << strsignal(ends.signal);
}

std::vector<RoleEnds> roleEnds() {
  std::vector<RoleEnds> all;
  for (const auto& [name, uid] : kPrivdRoles) {
    for (const int signal : {SIGTERM, SIGINT, SIGKILL}) all.push_back({name, signal});
  }
  return all;
}

class EndingOfARole : public LockedDown, public testing::WithParamInterface<RoleEnds> {};

INSTANTIATE_TEST_SUITE_P(Signals, EndingOfARole, testing::ValuesIn(roleEnds()));

TEST_P(EndingOfARole, EndsPrivdWithAFailureForItsSupervisor) {
  const Watched forkServer(this->forkServer());
  kill(role(GetParam().role), GetParam().signal);
  EXPECT_EQ(privd_->wait(), 1) << privd_->output();
  EXPECT_TRUE(privd_->says(GetParam().role + " ended: start privd again")) << privd_->output();
  EXPECT_TRUE(forkServer.ends());
}

TEST_F(LockedDown, TheBinderSaysThatTheForkServerIsGoneAndGoesOn) {
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
    EXPECT_EQ(SyscallInjector(process->pid()).inject({SYS_close, {~0ULL}}),
              CallOutcome(Returned{-EBADF}));
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0) << process->output();
  }
}

}  // namespace
}  // namespace vfiogate::test
