#include "tests/support/call_tracer.h"

#include "seccomp/print_policy.h"
#include "seccomp/sanitizer_rules.h"
#include "tests/support/syscall_stop.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>

namespace vfiogate::test {
namespace {

// For the signal handler, which can be given nothing else.
volatile std::sig_atomic_t tracedChild = 0;

void forwardToChild(int signal) {
  kill(static_cast<pid_t>(tracedChild), signal);
}

pid_t start(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child != 0) return child;
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  execv(argv.front(), argv.data());
  _exit(127);
}

std::array<std::uint64_t, 6> argumentsOf(const user_regs_struct& registers) {
  return {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9};
}

bool isOf(pid_t process, pid_t thread) {
  return std::filesystem::exists("/proc/" + std::to_string(process) + "/task/" +
                                 std::to_string(thread));
}

class Tracer {
public:
  Tracer(pid_t child, std::span<const Rule> table) : child_(child), table_(table) {
    tally_.rowUses.resize(table.size());
  }

  CallTally run() {
    int status = 0;
    waitpid(child_, &status, __WALL);
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, options);
    ptrace(PTRACE_SYSCALL, child_, nullptr, nullptr);
    for (;;) {
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) return tally_;
      if (WIFSTOPPED(status)) {
        goOn(thread, status);
      } else if (thread == child_) {
        tally_.exitStatus = status;
      }
    }
  }

private:
  /// What a thread's call in progress is to return instead of being made.
  struct Thread {
    bool apart = false;  ///< of a forked process, which has a table of its own: let alone
    bool inCall = false;
    std::optional<std::int64_t> playedResult;
  };

  void goOn(pid_t thread, int status) {
    int signal = WSTOPSIG(status);
    if (signal == kSyscallStop) {
      atSyscallStop(thread);
      signal = 0;
    } else if (status >> 16 != 0 || (signal == SIGSTOP && !threads_.contains(thread))) {
      signal = 0;  // an event, or a new thread's first stop
    }
    if (const auto [known, fresh] = threads_.try_emplace(thread); fresh) {
      known->second.apart = !isOf(child_, thread);
    }
    ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<std::uintptr_t>(signal));
  }

  void atSyscallStop(pid_t thread) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;  // killed meanwhile
    Thread& state = threads_[thread];
    if (state.apart) return;
    state.inCall = !state.inCall;
    if (state.inCall) {
      state.playedResult = judge(registers);
      if (state.playedResult) registers.orig_rax = ~0ULL;
    } else if (state.playedResult) {
      registers.rax = static_cast<std::uint64_t>(*state.playedResult);
    }
    if (state.playedResult) ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
  }

  std::optional<std::int64_t> judge(const user_regs_struct& registers) {
    const auto number = static_cast<std::int64_t>(registers.orig_rax);
    const auto args = argumentsOf(registers);
    const bool loads = number == SYS_seccomp && args[0] == SECCOMP_SET_MODE_FILTER && args[2] != 0;
    if (loads && !tally_.filterLoaded) {
      tally_.filterLoaded = true;
      return 0;
    }
    return tally_.filterLoaded ? count(number, args) : std::nullopt;
  }

  std::optional<std::int64_t> count(std::int64_t number, const std::array<std::uint64_t, 6>& args) {
    for (std::size_t row = 0; row < table_.size(); ++row) {
      if (!matches(table_[row], number, args)) continue;
      ++tally_.rowUses[row];
      return table_[row].error() == 0 ? std::nullopt : std::optional(-table_[row].error());
    }
    for (const Rule& rule : kSanitizerRules) {
      if (matches(rule, number, args)) {
        return rule.error() == 0 ? std::nullopt : std::optional(-rule.error());
      }
    }
    UnlistedCall& call = tally_.unlisted[number];
    if (call.count++ == 0) call.firstArgs = args;
    return std::nullopt;
  }

  bool matches(const Rule& rule, std::int64_t number,
               const std::array<std::uint64_t, 6>& args) const {
    if (rule.syscall() != number) return false;
    return std::ranges::all_of(rule.args(), [&](const ArgCheck& arg) {
      const auto value = arg.ownPid ? static_cast<std::uint64_t>(child_) : arg.value;
      return (args.at(arg.index) & arg.mask) == value;
    });
  }

  pid_t child_;
  std::span<const Rule> table_;
  std::map<pid_t, Thread> threads_;
  CallTally tally_;
};

std::string nameOf(std::int64_t number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
  return name ? name.get() : std::to_string(number);
}

}  // namespace

CallTally traceCalls(const std::vector<std::string>& command, std::span<const Rule> table) {
  const pid_t child = start(command);
  tracedChild = child;
  struct sigaction forward {};
  forward.sa_handler = forwardToChild;
  forward.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &forward, nullptr);
  return Tracer(child, table).run();
}

std::string str(const CallTally& tally, std::span<const Rule> table) {
  std::ostringstream out;
  if (!tally.filterLoaded) out << "no filter was loaded\n";
  for (std::size_t row = 0; row < table.size(); ++row) {
    out << std::setw(8) << tally.rowUses[row] << "  " << callName(table[row]);
    for (const ArgCheck& arg : table[row].args()) out << ", " << arg.text;
    if (tally.rowUses[row] == 0) out << (table[row].isDefensive() ? "  (defensive)" : "  UNUSED");
    out << "\n";
  }
  for (const auto& [number, call] : tally.unlisted) {
    out << std::setw(8) << call.count << "  " << nameOf(number) << "  NO ROW, first with"
        << std::hex;
    for (const std::uint64_t arg : call.firstArgs) out << " 0x" << arg;
    out << std::dec << "\n";
  }
  return out.str();
}

}  // namespace vfiogate::test
