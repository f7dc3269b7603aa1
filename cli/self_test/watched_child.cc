#include "cli/self_test/watched_child.h"

#include "cli/self_test/bpf_interpreter.h"

#include <kj/io.h>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {

std::string readAll(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

namespace {

constexpr int kCallStop = SIGTRAP | 0x80;
constexpr long kTraceOptions =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
/// A child that waits for something that never comes is ended by this.
constexpr unsigned kLongestSeconds = 60;

[[noreturn]] void liveAsChild(int saysTo, kj::FunctionParam<void()>& body) {
  dup2(saysTo, STDOUT_FILENO);
  dup2(saysTo, STDERR_FILENO);
  alarm(kLongestSeconds);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) raise(SIGSTOP);
  body();
  _exit(0);
}

/// A thread, and the call that it began last.
struct Traced {
  pid_t process;
  seccomp_data call{.nr = -1, .arch = 0, .instruction_pointer = 0, .args = {}};
};

/// Of which process the thread is; itself where /proc does not tell.
pid_t processOf(pid_t thread) {
  constexpr std::string_view kProcess = "Tgid:";
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kProcess)) return std::stoi(line.substr(kProcess.size()));
  }
  return thread;
}

std::string nameOf(const seccomp_data& call) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(call.arch, call.nr), &std::free);
  return name ? name.get() : std::to_string(call.nr);
}

/// Follows the child and what it forks, from the child's first stop on.
class CallWatch {
public:
  /// `filter`: the one that judges; empty: each process has one thread.
  CallWatch(pid_t child, std::vector<sock_filter> filter, ChildEnd& end)
      : child_(child), filter_(std::move(filter)), end_(end) {}

  void follow() {
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, kTraceOptions);
    traced_.emplace(child_, Traced{child_});
    proceed(child_, 0);
    int status = 0;
    for (pid_t who = 0; (who = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
      if (who > 0) take(who, status);
    }
  }

private:
  void take(pid_t who, int status) {
    if (!WIFSTOPPED(status)) return ended(who, status);
    const int stop = WSTOPSIG(status);
    const bool isNew = !traced_.contains(who);
    if (isNew) traced_.emplace(who, Traced{processOf(who)});
    if (stop == kCallStop) {
      note(who);
    } else if ((status >> 16) == 0 && !(isNew && stop == SIGSTOP)) {
      return proceed(who, stop);  // a signal of its own
    }
    proceed(who, 0);
  }

  void note(pid_t who) {
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, who, sizeof(info), &info) <= 0) return;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
    seccomp_data& call = traced_.at(who).call;
    call.nr = static_cast<int>(info.entry.nr);
    call.arch = info.arch;
    std::copy_n(info.entry.args, std::size(call.args), call.args);
  }

  void ended(pid_t who, int status) {
    if (who == child_) end_.status = status;
    const auto known = traced_.find(who);
    if (known == traced_.end()) return;
    if (!end_.killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
      const seccomp_data& call = judged(known->second);
      end_.killed = KilledCall{nameOf(call), call.nr, known->second.process != child_};
    }
    traced_.erase(known);  // its number may be given out again
  }

  /// The kernel ends all threads of the process for what one of them called.
  const seccomp_data& judged(const Traced& ended) const {
    if (filter_.empty()) return ended.call;
    for (const auto& [thread, traced] : traced_) {
      const bool theirs = traced.process == ended.process && traced.call.nr >= 0;
      if (theirs && evaluate(filter_, traced.call) == SECCOMP_RET_KILL_PROCESS) return traced.call;
    }
    return ended.call;
  }

  static void proceed(pid_t who, int signal) {
    ptrace(PTRACE_SYSCALL, who, nullptr, static_cast<long>(signal));
  }

  pid_t child_;
  const std::vector<sock_filter> filter_;
  ChildEnd& end_;
  std::map<pid_t, Traced> traced_;
};

Result<ChildEnd, int> watch(kj::FunctionParam<void()> body, std::vector<sock_filter> filter,
                            kj::FunctionParam<void(pid_t)> began) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failure{errno};
  kj::AutoCloseFd hears(ends[0]);
  kj::AutoCloseFd says(ends[1]);
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) return Failure{errno};
  if (child == 0) liveAsChild(says.get(), body);
  says = nullptr;
  began(child);
  ChildEnd end;
  // Without WUNTRACED only a child that is traced reports its stop.
  if (waitpid(child, &end.status, 0) == child && WIFSTOPPED(end.status)) {
    CallWatch(child, std::move(filter), end).follow();
  } else {
    end.watched = false;
  }
  end.said = readAll(hears.get());
  return end;
}

}  // namespace

Result<ChildEnd, int> watchChild(kj::FunctionParam<void()> body) {
  return watch(kj::mv(body), {}, [](pid_t) {});
}

Result<ChildEnd, int> watchThreads(kj::FunctionParam<void()> body, std::span<const Rule> filter,
                                   kj::FunctionParam<void(pid_t)> began) {
  return watch(kj::mv(body), exportedFilter(filter), kj::mv(began));
}

}  // namespace vfiogate
