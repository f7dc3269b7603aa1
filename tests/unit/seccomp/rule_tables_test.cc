// The tables as the kernel will see them: exported filters, evaluated as data.

#include "cli/self_test/bpf_interpreter.h"
#include "seccomp/binder_rules.h"
#include "seccomp/daemon_rules.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/iommufd_rules.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/sanitizer_rules.h"
#include "tests/support/seen/reduced_table.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <linux/audit.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using test::onlyCall;

constexpr std::uint32_t kX32Bit = 0x40000000;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;

struct Process {
  const char* name;
  std::span<const Rule> table;
};
void PrintTo(const Process& process, std::ostream* out) {
  *out << process.name;
}

class EachTable : public testing::TestWithParam<Process> {
protected:
  std::vector<sock_filter> filter_ = exportedFilter(GetParam().table);
  std::vector<Rule> calls_ = test::byCall(GetParam().table);

  std::uint32_t verdict(int number, std::vector<std::uint64_t> args) const {
    return evaluate(filter_, nativeCall(number, args));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Daemons, EachTable,
    testing::Values(Process{"hardware", kHardwareRules}, Process{"gate", kGateRules},
                    Process{"binder", kBinderRules}, Process{"daemon", kDaemonRules},
                    Process{"iommufd", kIommufdRules}, Process{"fork_server", kForkServerRules},
                    Process{"plugind", kPlugindRules}, Process{"netd_metrics", kNetdMetricsRules},
                    Process{"netd_dra", kNetdDraRules}),
    [](const auto& row) { return row.param.name; });

bool hasRow(std::span<const Rule> table, int number) {
  return test::rowFor(table, number) != table.end();
}

std::vector<std::uint64_t> argumentsThatPass(const Rule& rule) {
  std::vector<std::uint64_t> args(6, 0);
  for (const ArgCheck& arg : rule.args()) {
    args.at(arg.index) = arg.ownPid ? static_cast<std::uint64_t>(getpid()) : arg.value;
  }
  return args;
}

TEST_P(EachTable, EveryRowGetsWhatItSays) {
  for (const Rule& rule : calls_) {
    const std::uint32_t want =
        rule.error() == 0 ? kAllow : SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(rule.error());
    EXPECT_EQ(verdict(onlyCall(rule), argumentsThatPass(rule)), want)
        << "call " << onlyCall(rule) << ": " << rule.reason();
  }
}

TEST_P(EachTable, CallsWithoutARowKill) {
  for (int number = 0; number < 1024; ++number) {
    if (!hasRow(GetParam().table, number) && !hasRow(kSanitizerRules, number)) {
      EXPECT_EQ(verdict(number, {}), kKill) << "call " << number;
    }
  }
}

TEST_P(EachTable, ForeignArchitecturesKillWhateverTheCall) {
  for (const std::uint32_t architecture : std::array<std::uint32_t, 4>{
           AUDIT_ARCH_I386, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM}) {
    if (architecture == kNativeArch) continue;
    for (int number = 0; number < 512; ++number) {
      seccomp_data call = nativeCall(number, {});
      call.arch = architecture;
      EXPECT_EQ(evaluate(filter_, call), kKill) << architecture << " call " << number;
    }
  }
}

TEST_P(EachTable, X32CallsKillEvenWhereTheNativeCallIsAllowed) {
  for (const Rule& rule : calls_) {
    const auto number = static_cast<int>(static_cast<std::uint32_t>(onlyCall(rule)) | kX32Bit);
    EXPECT_EQ(verdict(number, argumentsThatPass(rule)), kKill) << "call " << onlyCall(rule);
  }
}

TEST_P(EachTable, ArgumentsOutsideAConstraintKill) {
  struct Denied {
    int number;
    std::vector<std::uint64_t> args;
  };
  const std::vector<Denied> rows{
      {SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC}},
      {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC}},
      {SYS_mprotect, {0, 4096, PROT_EXEC}},
      {SYS_clone, {CLONE_PARENT | SIGCHLD}},
      {SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
      {SYS_clone, {SIGKILL}},
      {SYS_clone, {0}},
      {SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}},
      {SYS_clone, {CLONE_THREAD}},
      {SYS_clone, {kThreadFlags | CLONE_NEWNS}},
      {SYS_clone, {kThreadFlags | CLONE_NEWUSER}},
      {SYS_clone, {kThreadFlags | CLONE_UNTRACED}},
      {SYS_socket, {AF_INET, SOCK_STREAM}},
      {SYS_socket, {AF_INET6, SOCK_STREAM}},
      {SYS_socket, {AF_NETLINK, SOCK_RAW}},
      {SYS_socket, {AF_PACKET, SOCK_RAW}},
      {SYS_socket, {AF_VSOCK, SOCK_STREAM}},
      {SYS_socket, {0xffffffff00000000ULL | AF_INET, SOCK_STREAM}},
      {SYS_socketpair, {AF_INET, SOCK_STREAM}},
      {SYS_fcntl, {0, F_SETOWN}},
      {SYS_fcntl, {0, F_NOTIFY}},
      {SYS_fcntl, {0, F_SETPIPE_SZ}},
      {SYS_fcntl, {0, F_ADD_SEALS}},
      {SYS_fcntl, {0, F_DUPFD}},
      {SYS_flock, {0, LOCK_EX}},
      {SYS_flock, {0, LOCK_SH | LOCK_NB}},
      {SYS_flock, {0, LOCK_UN | LOCK_NB}},
      {SYS_unlinkat, {0, 0, AT_REMOVEDIR}},
      {SYS_getsockopt, {0, SOL_SOCKET, SO_PEERSEC}},
      {SYS_getsockopt, {0, IPPROTO_IP, SO_PEERCRED}},
      {SYS_setsockopt, {0, SOL_SOCKET, SO_ATTACH_FILTER}},
      {SYS_setsockopt, {0, SOL_SOCKET, TCP_INQ}},
      {SYS_setsockopt, {0, IPPROTO_TCP, TCP_ULP}},
      {SYS_prctl, {PR_SET_DUMPABLE, 1}},
      {SYS_prctl, {PR_SET_MM}},
      {SYS_prctl, {PR_SET_PTRACER}},
      {SYS_prctl, {PR_SET_SECCOMP}},
      {SYS_ioctl, {0, FIONREAD}},
      {SYS_tgkill, {static_cast<std::uint64_t>(getpid()), 1, SIGKILL}},
      {SYS_tgkill, {static_cast<std::uint64_t>(getpid()) + 1, 1, SIGABRT}},
      {SYS_tgkill, {1, 1, SIGABRT}},
  };
  for (const Denied& row : rows) {
    EXPECT_EQ(verdict(row.number, row.args), kKill)
        << "call " << row.number << " with " << testing::PrintToString(row.args);
  }
}

bool takes(const Rule& rule, int number, const std::vector<std::uint64_t>& args) {
  return onlyCall(rule) == number && std::ranges::all_of(rule.args(), [&args](const ArgCheck& arg) {
           const auto value = arg.ownPid ? static_cast<std::uint64_t>(getpid()) : arg.value;
           return (args.at(arg.index) & arg.mask) == value;
         });
}

// With any one bit of it the other way round, unless another row takes that.
TEST_P(EachTable, EveryBitOfEveryConstraintCounts) {
  for (const Rule& rule : calls_) {
    for (const ArgCheck& arg : rule.args()) {
      for (unsigned bit = 0; bit < 64; ++bit) {
        if ((arg.mask >> bit & 1U) == 0) continue;
        std::vector<std::uint64_t> args = argumentsThatPass(rule);
        args.at(arg.index) ^= std::uint64_t{1} << bit;
        const bool others = std::ranges::any_of(
            calls_, [&](const Rule& other) { return takes(other, onlyCall(rule), args); });
        EXPECT_EQ(verdict(onlyCall(rule), args), others ? kAllow : kKill)
            << "call " << onlyCall(rule) << ", " << arg.text << ", bit " << bit;
      }
    }
  }
}

TEST_P(EachTable, AnIntsUpperHalfIsIgnoredAsTheKernelIgnoresIt) {
  std::size_t ints = 0;
  for (const Rule& rule : calls_) {
    std::vector<std::uint64_t> args = argumentsThatPass(rule);
    for (const ArgCheck& arg : rule.args()) {
      if (arg.mask != 0xffffffffU) continue;
      args.at(arg.index) |= 0xdeadbeef00000000ULL;
      ++ints;
    }
    if (rule.error() == 0) {
      EXPECT_EQ(verdict(onlyCall(rule), args), kAllow) << "call " << onlyCall(rule);
    }
  }
  EXPECT_GT(ints, 0U);
}

TEST_P(EachTable, SaysWhyForEachRowAndIsDefensiveInFew) {
  std::size_t defensive = 0;
  for (const Rule& rule : GetParam().table) {
    EXPECT_FALSE(rule.reason().empty()) << callNames(rule);
    for (const ArgCheck& arg : rule.args()) EXPECT_FALSE(arg.text.empty()) << rule.reason();
    defensive += rule.isDefensive() ? 1 : 0;
  }
  EXPECT_LE(defensive, kMostDefensiveRows);
}

TEST(PlugindTable, AnswersLateOpenersInsteadOfKillingThem) {
  const auto filter = exportedFilter(kPlugindRules);
  const auto verdict = [&filter](int number) { return evaluate(filter, nativeCall(number, {})); };
  EXPECT_EQ(verdict(SYS_openat), SECCOMP_RET_ERRNO | EACCES);
  EXPECT_EQ(verdict(SYS_clone3), SECCOMP_RET_ERRNO | ENOSYS);
  EXPECT_EQ(verdict(SYS_openat2), kKill);
}

TEST(PrivdTables, OpenOnlyBeneathDirectoriesAndStartNoThread) {
  const std::array args{std::uint64_t{kThreadFlags}};
  for (const std::span<const Rule> table :
       {std::span<const Rule>(kHardwareRules), std::span<const Rule>(kGateRules),
        std::span<const Rule>(kBinderRules), std::span<const Rule>(kDaemonRules),
        std::span<const Rule>(kIommufdRules)}) {
    const auto filter = exportedFilter(table);
    for (const int number : {SYS_openat, SYS_clone, SYS_clone3}) {
      EXPECT_EQ(evaluate(filter, nativeCall(number, args)), kKill) << "call " << number;
    }
  }
}

// What no root needs: it changes nothing.
TEST(HardwareTable, MakesChangesAndRemovesNoFile) {
  const auto filter = exportedFilter(kHardwareRules);
  for (const int number : {SYS_renameat, SYS_unlinkat, SYS_mkdirat, SYS_ftruncate, SYS_flock,
                           SYS_fsync, SYS_fchmod, SYS_bind, SYS_listen, SYS_accept4}) {
    EXPECT_EQ(evaluate(filter, nativeCall(number, {})), kKill) << "call " << number;
  }
}

TEST(EveryTableButTheForkServers, MakesNoProcess) {
  const std::array args{std::uint64_t{SIGCHLD}};
  const auto verdict = [&args](std::span<const Rule> table) {
    return evaluate(exportedFilter(table), nativeCall(SYS_clone, args));
  };
  EXPECT_EQ(verdict(kHardwareRules), kKill);
  EXPECT_EQ(verdict(kGateRules), kKill);
  EXPECT_EQ(verdict(kBinderRules), kKill);
  EXPECT_EQ(verdict(kDaemonRules), kKill);
  EXPECT_EQ(verdict(kIommufdRules), kKill);
  EXPECT_EQ(verdict(kPlugindRules), kKill);
  EXPECT_EQ(verdict(kNetdMetricsRules), kKill);
  EXPECT_EQ(verdict(kNetdDraRules), kKill);
  EXPECT_EQ(verdict(kForkServerRules), kAllow);
}

TEST(ForkServerTable, TakesWritesAndReadsAndMakesProcessesAndNothingElse) {
  std::vector<std::string> calls;
  for (const Rule& rule : kForkServerRules) calls.push_back(callNames(rule));
  EXPECT_THAT(calls, testing::ElementsAre("recvmsg", "clone", "write", "read", "close",
                                          "exit_group", "brk"));
}

TEST(SanitizerRows, AreInNoFilterWithoutSanitizers) {
#ifdef VFIOGATE_SANITIZED
  GTEST_SKIP() << "this build has sanitizers";
#else
  EXPECT_TRUE(kSanitizerRules.empty());
#endif
}

TEST(SanitizerRows, LeaveARowOfTheTableItsMeaning) {
  constexpr std::array kOnlyPipe{Rule{SCMP_SYS(pipe2), AnswerErrno{EMFILE}, "why"},
                                 Rule{SCMP_SYS(openat), AnswerErrno{EMFILE}, "why"}};
  const auto filter = exportedFilter(kOnlyPipe);
  for (const int number : {SYS_pipe2, SYS_openat}) {
    EXPECT_EQ(evaluate(filter, nativeCall(number, {})), SECCOMP_RET_ERRNO | EMFILE);
  }
}

TEST(TableSoundness, ARowForAnyArgumentsBesideOneThatTestsThemIsRefused) {
  constexpr std::array kShadowed{Rule{SCMP_SYS(read), kAnyArgs, "all"},
                                 Rule{SCMP_SYS(read), intIs(0, 0, "fd is 0"), "one"}};
  constexpr std::array kAlternatives{Rule{SCMP_SYS(read), intIs(0, 1, "fd is 1"), "one"},
                                     Rule{SCMP_SYS(read), intIs(0, 0, "fd is 0"), "other"}};
  EXPECT_FALSE(isSound(kShadowed));
  EXPECT_TRUE(isSound(kAlternatives));
}

TEST(TableSoundness, AnAlternativeThatAnotherRowTestsIsRefused) {
  constexpr SystemCalls kEither{{SCMP_SYS(read), "one library"}, {SCMP_SYS(pread64), "another"}};
  constexpr std::array kShadowed{Rule{kEither, kAnyArgs, "all"},
                                 Rule{SCMP_SYS(pread64), intIs(0, 0, "fd is 0"), "one"}};
  constexpr std::array kApart{Rule{kEither, kAnyArgs, "all"},
                              Rule{SCMP_SYS(write), intIs(0, 0, "fd is 0"), "one"}};
  EXPECT_FALSE(isSound(kShadowed));
  EXPECT_TRUE(isSound(kApart));
}

TEST(Alternatives, AreAllAllowedOrAllGetTheErrno) {
  constexpr SystemCalls kEither{{SCMP_SYS(read), "one library"}, {SCMP_SYS(pread64), "another"}};
  const std::array allowed{Rule{kEither, kAnyArgs, "why"}};
  const std::array refused{Rule{kEither, AnswerErrno{EACCES}, "why"}};
  for (const int number : {SYS_read, SYS_pread64}) {
    const auto call = nativeCall(number, {});
    EXPECT_EQ(evaluate(exportedFilter(allowed), call), kAllow);
    EXPECT_EQ(evaluate(exportedFilter(refused), call), SECCOMP_RET_ERRNO | EACCES);
  }
}

TEST(TableSoundness, AThirteenthDefensiveRowIsRefused) {
  constexpr Rule kRow{SCMP_SYS(read), intIs(0, 0, "fd is 0"), "why", Defensive{"when"}};
  EXPECT_TRUE(isSound(std::vector<Rule>(kMostDefensiveRows, kRow)));
  EXPECT_FALSE(isSound(std::vector<Rule>(kMostDefensiveRows + 1, kRow)));
}

}  // namespace
}  // namespace vfiogate
