#include "tests/support/seen/call_tracer.h"

#include "seccomp/sanitizer_rules.h"
#include "sim/base/process_status.h"
#include "tests/support/seen/syscall_stop.h"
#include "tests/support/seen/traced_program.h"

#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>

namespace vfiogate::test {
namespace {

CallArgs argumentsOf(const user_regs_struct& registers) {
  return {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9};
}

bool isOf(pid_t process, pid_t thread) {
  return std::filesystem::exists("/proc/" + std::to_string(process) + "/task/" +
                                 std::to_string(thread));
}

pid_t parentOf(pid_t process) {
  const auto threads = threadStatuses(process);
  const auto own = threads.find(process);
  return own == threads.end() ? 0 : std::stoi(own->second.at("PPid"));
}

class Tracer {
public:
  Tracer(pid_t child, const TracedTables& tables)
      : child_(child), own_{{tables.own, trace_.own}, {tables.forked, trace_.forked}} {
    for (const auto& [name, program] : tables.started) {
      ProgramTally& tally = trace_.started[name];
      started_.emplace(name, Program{{program.own, tally.own}, {program.forked, tally.forked}});
    }
  }

  CallTrace run(const TracedProgram& program) {
    int status = 0;
    while (const pid_t thread = program.next(status)) {
      if (WIFSTOPPED(status)) {
        goOn(thread, status);
      } else if (thread == child_) {
        trace_.exitStatus = status;
      }
    }
    return trace_;
  }

private:
  /// A table, and where the calls of its processes are counted.
  struct Book {
    Book(std::span<const Rule> rows, CallTally& counts) : table(rows), tally(counts) {
      tally.rowUses.resize(table.size());
    }
    std::span<const Rule> table;
    CallTally& tally;
  };
  struct Program {
    Book own;
    Book forked;
  };
  /// What a thread's call in progress is to return instead of being made.
  struct Thread {
    const Program* program = nullptr;
    const Book* book = nullptr;  ///< of its process
    bool filtered = false;       ///< its process, or the one that forked it, loaded a filter
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
    Thread& state = known(thread);
    if (status >> 16 == PTRACE_EVENT_EXEC && thread != child_) becomes(thread, state);
    ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<std::uintptr_t>(signal));
  }

  /// In the call that makes it another program.
  void becomes(pid_t process, Thread& state) const {
    const std::string exe =
        std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe").filename();
    const auto found = started_.find(exe);
    if (found == started_.end()) return;
    state = {.program = &found->second, .book = &found->second.own, .inCall = true};
  }

  Thread& known(pid_t thread) {
    const auto [found, fresh] = threads_.try_emplace(thread);
    Thread& state = found->second;
    if (!fresh) return state;
    const auto maker = threads_.find(parentOf(thread));
    const bool isForked = !isOf(child_, thread) && maker != threads_.end();
    state.program = isForked ? maker->second.program : &own_;
    state.book = isForked ? &state.program->forked : &state.program->own;
    state.filtered = isForked && maker->second.filtered;
    return state;
  }

  void atSyscallStop(pid_t thread) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;  // killed meanwhile
    Thread& state = known(thread);
    const Book& book = *state.book;
    if (book.table.empty()) return;
    state.inCall = !state.inCall;
    if (state.inCall) {
      state.playedResult = judge(state, registers);
      if (state.playedResult) registers.orig_rax = ~0ULL;
    } else if (state.playedResult) {
      registers.rax = static_cast<std::uint64_t>(*state.playedResult);
    }
    if (state.playedResult) ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
  }

  std::optional<std::int64_t> judge(Thread& state, const user_regs_struct& registers) {
    const Book& book = *state.book;
    const auto number = static_cast<std::int64_t>(registers.orig_rax);
    const CallArgs args = argumentsOf(registers);
    const bool loads = number == SYS_seccomp && args[0] == SECCOMP_SET_MODE_FILTER && args[2] != 0;
    // A program's filter is loaded for all its threads.
    bool& loaded = &book == &own_.own ? book.tally.filterLoaded : state.filtered;
    if (!loads || loaded) return loaded ? count(book, number, args) : std::nullopt;
    loaded = book.tally.filterLoaded = true;
    return 0;
  }

  std::optional<std::int64_t> count(const Book& book, std::int64_t number, const CallArgs& args) {
    const auto note = [&args, number](CallCount& call) {
      if (call.count++ > 0) return;
      call.firstNumber = number;
      call.firstArgs = args;
    };
    for (std::size_t row = 0; row < book.table.size(); ++row) {
      if (!matches(book.table[row], number, args)) continue;
      note(book.tally.rowUses[row]);
      return answerOf(book.table[row]);
    }
    for (const Rule& rule : kSanitizerRules) {
      if (matches(rule, number, args)) return answerOf(rule);
    }
    note(book.tally.unlisted[number]);
    return std::nullopt;
  }

  static std::optional<std::int64_t> answerOf(const Rule& rule) {
    return rule.error() == 0 ? std::nullopt : std::optional<std::int64_t>(-rule.error());
  }

  bool matches(const Rule& rule, std::int64_t number, const CallArgs& args) const {
    if (!rule.isFor(number)) return false;
    return std::ranges::all_of(rule.args(), [&](const ArgCheck& arg) {
      const auto value = arg.ownPid ? static_cast<std::uint64_t>(child_) : arg.value;
      return (args.at(arg.index) & arg.mask) == value;
    });
  }

  pid_t child_;
  CallTrace trace_;
  Program own_;
  std::map<std::string, Program> started_;
  std::map<pid_t, Thread> threads_;
};

}  // namespace

CallTrace traceCalls(const std::vector<std::string>& command, const TracedTables& tables) {
  const TracedProgram program(command);
  return Tracer(program.pid(), tables).run(program);
}

}  // namespace vfiogate::test
