// A process locked down like privd's binder or plugind that does nothing but wait: for the probes'
// own tests, and for trying a table without a daemon. Never shipped. Usage: stand_in_daemon
// binder|plugind [WITHOUT_ROW]   says "ready", then waits
//        stand_in_daemon brief [WITHOUT_ROW]           like the binder, but ends at once
//        stand_in_daemon open                          waits without any lock-down

#include "seccomp/binder_rules.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/plugind_rules.h"
#include "tests/support/seen/reduced_table.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

namespace vfiogate::test {
namespace {

constexpr uid_t kPlugindId = 64532;

int refuse(const StepFailure& failure) {
  std::fprintf(stderr, "%s\n", failure.str().c_str());
  return EXIT_FAILURE;
}

[[noreturn]] void waitForEver(int poller) {
  for (;;) {
    epoll_event event{};
    if (epoll_wait(poller, &event, 1, -1) < 0 && errno != EINTR) std::abort();
  }
}

int live(std::string_view role, std::span<const Rule> table) {
  const bool isPlugind = role == "plugind";
  const auto identity = isPlugind ? std::optional(Identity{kPlugindId, kPlugindId}) : std::nullopt;
  if (auto failed = dropPrivileges({.identity = identity})) return refuse(*failed);
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  if (auto failed = loadFilter(table)) return refuse(*failed);
  if (isPlugind) std::thread([poller] { waitForEver(poller); }).detach();
  constexpr std::string_view kReady = "ready\n";
  if (write(STDOUT_FILENO, kReady.data(), kReady.size()) < 0) return EXIT_FAILURE;
  if (role == "brief") _exit(EXIT_SUCCESS);  // past LeakSanitizer, which wants to trace
  waitForEver(poller);
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  using namespace vfiogate;
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "open") {
    std::puts("ready");
    std::fflush(stdout);
    test::waitForEver(epoll_create1(EPOLL_CLOEXEC));
  }
  if (role != "binder" && role != "plugind" && role != "brief") return 2;
  const std::span<const Rule> table = role == "plugind" ? std::span<const Rule>(kPlugindRules)
                                                        : std::span<const Rule>(kBinderRules);
  if (argc < 3) return test::live(role, table);
  return test::live(role, test::withoutRow(table, std::strtoul(argv[2], nullptr, 10)));
}
