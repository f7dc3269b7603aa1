#include "privd/cli/policy/watched_child.h"

#include <kj/io.h>

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

namespace vfiogate {
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

struct BegunCall {
  std::uint32_t architecture = 0;
  long number = -1;
};

std::string nameOfCall(const BegunCall& call) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(call.architecture, static_cast<int>(call.number)),
      &std::free);
  return name ? name.get() : std::to_string(call.number);
}

/// Follows the child and what it forks, from the child's first stop on.
class CallWatch {
public:
  CallWatch(pid_t child, ChildEnd& end) : child_(child), end_(end) {}

  void follow() {
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, kTraceOptions);
    begun_[child_];
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
    const bool isNew = begun_.try_emplace(who).second;
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
    begun_[who] = {info.arch, static_cast<long>(info.entry.nr)};
  }

  void ended(pid_t who, int status) {
    if (who == child_) end_.status = status;
    if (!end_.killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
      const BegunCall& call = begun_[who];
      end_.killed = KilledCall{nameOfCall(call), call.number, who != child_};
    }
    begun_.erase(who);  // its number may be given out again
  }

  static void proceed(pid_t who, int signal) {
    ptrace(PTRACE_SYSCALL, who, nullptr, static_cast<long>(signal));
  }

  pid_t child_;
  ChildEnd& end_;
  std::map<pid_t, BegunCall> begun_;
};

std::string readAll(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Result<ChildEnd, int> watchChild(kj::FunctionParam<void()> body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failure{errno};
  kj::AutoCloseFd hears(ends[0]);
  kj::AutoCloseFd says(ends[1]);
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) return Failure{errno};
  if (child == 0) liveAsChild(says.get(), body);
  says = nullptr;
  ChildEnd end;
  // Without WUNTRACED only a child that is traced reports its stop.
  if (waitpid(child, &end.status, 0) == child && WIFSTOPPED(end.status)) {
    CallWatch(child, end).follow();
  } else {
    end.watched = false;
  }
  end.said = readAll(hears.get());
  return end;
}

}  // namespace vfiogate
