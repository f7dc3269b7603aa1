// The limits of each shipped program, as the kernel enforces them; and that nobody looks into it,
// not even a process of its own user.

#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace vfiogate::test {
namespace {

/// "4096 4096", soft and hard, of a line of /proc/<pid>/limits.
std::string limitOf(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/limits");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft;
    std::string hard;
    words >> soft >> hard;
    return soft + " " + hard;
  }
  return "no such line";
}

std::string both(std::uint64_t value) {
  return std::to_string(value) + " " + std::to_string(value);
}

struct OwnLimit {
  std::uint64_t descriptors;
  std::uint64_t memoryMib;
};

OwnLimit limitOf(Role role) {
  switch (role) {
    case Role::kDaemon:
      return {16, 8};
    case Role::kHardware:
      return {256, 40};
    case Role::kBinder:
    case Role::kForkServer:
      return {4096, 40};
    case Role::kGate:
      return {4096, 24};
    case Role::kIommufd:
      return {256, 10};
    case Role::kPlugind:
      return {1024, 184};
    case Role::kNetdMetrics:
      return {256, 60};
    case Role::kNetdDra:
      return {256, 112};
  }
  return {};
}

void becomePowerless(uid_t uid) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  const bool done = setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
                    setresuid(uid, uid, uid) == 0 && syscall(SYS_capset, &header, none) == 0;
  if (!done) _exit(64);
}

/// Ways into `pid` that are open to a process of `uid` without any capability: 1 ptrace, 2 its
/// memory as a file, 4 its memory by address, 8 its descriptors.
int waysInto(pid_t pid, uid_t uid) {
  const pid_t child = fork();
  if (child == 0) {
    becomePowerless(uid);
    const std::string proc = "/proc/" + std::to_string(pid);
    int ways = 0;
    // Nowhere: it is refused, or fails with EFAULT.
    char byte = 0;
    const iovec here{&byte, 1};
    const iovec there{nullptr, 1};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT) ways |= 4;
    if (open((proc + "/mem").c_str(), O_RDONLY | O_CLOEXEC) >= 0) ways |= 2;
    if (readlink((proc + "/fd/2").c_str(), &byte, 1) >= 0) ways |= 8;
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) ways |= 1;
    _exit(ways);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class OwnLimits : public testing::TestWithParam<DaemonUnderTest> {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(daemon_.ready()) << daemon_.output();
  }

  RunningDaemon daemon_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Programs, OwnLimits, testing::ValuesIn(daemonsUnderTest()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(OwnLimits, AreInForceAndFinal) {
  const OwnLimit wanted = limitOf(GetParam().role);
  EXPECT_EQ(limitOf(daemon_.pid(), "Max open files"), both(wanted.descriptors));
  EXPECT_EQ(limitOf(daemon_.pid(), "Max core file size"), "0 0");
  if (kOwnAllocator) {
    EXPECT_EQ(limitOf(daemon_.pid(), "Max data size"), both(wanted.memoryMib << 20U));
  }
  // It would count what other pods run under the same uid: threat model, "a tenant chooses our
  // uid".
  EXPECT_EQ(limitOf(daemon_.pid(), "Max processes"), limitOf(getpid(), "Max processes"));
}

TEST_P(OwnLimits, NobodyOfItsUserLooksInside) {
  EXPECT_EQ(waysInto(daemon_.pid(), GetParam().uid), 0);
}

TEST(WaysInto, AreOpenWhereAProcessIsDumpable) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  for (const uid_t uid : {uid_t{0}, uid_t{64532}}) {
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t open = fork();
    if (open == 0) {
      becomePowerless(uid);
      prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    EXPECT_EQ(waysInto(open, uid), 15) << uid;
    kill(open, SIGKILL);
    waitpid(open, nullptr, 0);
  }
}

}  // namespace
}  // namespace vfiogate::test
