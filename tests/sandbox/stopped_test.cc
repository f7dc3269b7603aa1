// A process that is stopped and continued goes on in the wait that it was in, under its filter:
// some waits are taken up again by a system call of the kernel's own, restart_syscall.

#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "tests/sandbox/daemons_under_test.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace vfiogate::test {
namespace {

/// True as soon as each thread is in this state, as /proc gives it: "T", "S".
bool becomes(pid_t pid, char state) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    auto threads = threadStatuses(pid);
    const auto isIt = [state](auto& thread) { return thread.second["State"].starts_with(state); };
    if (threads.empty()) return false;  // it died
    if (std::ranges::all_of(threads, isIt)) return true;
    poll(nullptr, 0, 5);
  }
  return false;
}

class Stopped : public testing::TestWithParam<DaemonUnderTest> {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to hold the daemons by ptrace";
  }
};

INSTANTIATE_TEST_SUITE_P(Daemons, Stopped, testing::ValuesIn(daemonsUnderTest()),
                         [](const auto& row) { return row.param.name; });

TEST_P(Stopped, AndContinuedItGoesOn) {
  RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  const pid_t pid = running.pid();
  ASSERT_TRUE(becomes(pid, 'S')) << "it does not come to rest";
  kill(pid, SIGSTOP);
  ASSERT_TRUE(becomes(pid, 'T'));
  kill(pid, SIGCONT);
  ASSERT_TRUE(becomes(pid, 'S')) << running.output();
  EXPECT_EQ(running.inject({SYS_close, {~0ULL}}), CallOutcome(Returned{-EBADF}));
}

}  // namespace
}  // namespace vfiogate::test
