// What the two roles of netd, which have a network, may do with it.

#include "cli/self_test/bpf_interpreter.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/sanitizer_rules.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::uint32_t kNetdDies = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kNetdMay = SECCOMP_RET_ALLOW;

TEST(NetdDraTable, DialsButNeverListensAndReadsButNeverWritesFiles) {
  const auto filter = exportedFilter(kNetdDraRules);
  const auto verdict = [&filter](int number, std::vector<std::uint64_t> args) {
    return evaluate(filter, nativeCall(number, args));
  };
  constexpr std::uint64_t kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (const std::uint64_t family : std::vector<std::uint64_t>{AF_UNIX, AF_INET, AF_INET6}) {
    EXPECT_EQ(verdict(SYS_socket, {family, SOCK_STREAM | kFlags, 0}), kNetdMay);
    EXPECT_EQ(verdict(SYS_socket, {family, SOCK_STREAM, 0}), kNetdDies);
    EXPECT_EQ(verdict(SYS_socket, {family, SOCK_DGRAM | kFlags, 0}), kNetdDies);
    EXPECT_EQ(verdict(SYS_socket, {family, SOCK_RAW | kFlags, 0}), kNetdDies);
    EXPECT_EQ(verdict(SYS_socket, {family, SOCK_STREAM | kFlags, IPPROTO_SCTP}), kNetdDies);
  }
  for (const int call : {SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendto, SYS_recvmsg}) {
    EXPECT_EQ(verdict(call, {5}), kNetdDies) << call;
  }
  constexpr std::uint64_t kReads = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  EXPECT_EQ(verdict(SYS_openat, {5, 0, kReads}), kNetdMay);
  for (const std::uint64_t more :
       std::vector<std::uint64_t>{O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_PATH, O_DIRECTORY}) {
    EXPECT_EQ(verdict(SYS_openat, {5, 0, kReads | more}), kNetdDies) << more;
  }
  for (const std::uint64_t option :
       std::vector<std::uint64_t>{SO_ATTACH_FILTER, SO_BINDTODEVICE, SO_MARK}) {
    EXPECT_EQ(verdict(SYS_setsockopt, {5, SOL_SOCKET, option}), kNetdDies) << option;
  }
}

TEST(NetdMetricsTable, MakesLocalStreamSocketsOnlyAndTakesNoNameForThem) {
  const auto filter = exportedFilter(kNetdMetricsRules);
  const auto verdict = [&filter](int number, std::vector<std::uint64_t> args) {
    return evaluate(filter, nativeCall(number, args));
  };
  constexpr std::uint64_t kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  EXPECT_EQ(verdict(SYS_socket, {AF_UNIX, SOCK_STREAM | kFlags, 0}), kNetdMay);
  for (const std::vector<std::uint64_t>& args :
       {std::vector<std::uint64_t>{AF_UNIX, SOCK_STREAM, 0},
        std::vector<std::uint64_t>{AF_UNIX, SOCK_DGRAM | kFlags, 0},
        std::vector<std::uint64_t>{AF_UNIX, SOCK_SEQPACKET | kFlags, 0},
        std::vector<std::uint64_t>{AF_INET, SOCK_STREAM | kFlags, 0},
        std::vector<std::uint64_t>{AF_UNIX, SOCK_STREAM | kFlags, 1}}) {
    EXPECT_EQ(verdict(SYS_socket, args), kNetdDies) << testing::PrintToString(args);
  }
  for (const int number : {SYS_bind, SYS_listen, SYS_socketpair, SYS_openat, SYS_openat2,
                           SYS_sendmsg, SYS_sendto, SYS_recvmsg, SYS_clone, SYS_clone3, SYS_fcntl,
                           SYS_setsockopt, SYS_ioctl, SYS_unlinkat, SYS_renameat}) {
    const bool sanitizers = std::ranges::any_of(
        kSanitizerRules, [number](const Rule& rule) { return rule.isFor(number); });
    if (sanitizers) continue;
    EXPECT_EQ(verdict(number, {}), kNetdDies) << "call " << number;
  }
}

}  // namespace
}  // namespace vfiogate
