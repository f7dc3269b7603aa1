// Usage: record_calls FILE PROGRAM [ARGUMENT...]
// Runs the program to its end and writes each system call that it is about to make, of all its
// threads and of all that it forks, from the execve that makes it on: a line of call number and six
// arguments, in hex. Nothing is changed; SIGTERM and SIGINT are passed on. Ends as the program.

#include "tests/support/seen/syscall_stop.h"
#include "tests/support/seen/traced_stops.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

namespace vfiogate::test {
namespace {

constexpr int kNotStarted = 127;

pid_t start(char** command, const TracedStops& stops) {
  const pid_t child = fork();
  if (child != 0) return child;
  stops.leave();
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  execv(command[0], command);
  _exit(kNotStarted);
}

void record(pid_t thread, std::ofstream& file) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;  // killed
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
  file << std::hex << info.entry.nr;
  for (const std::uint64_t arg : info.entry.args) file << ' ' << arg;
  file << '\n';
}

/// The child's end, as waitpid gives it.
int follow(pid_t child, const TracedStops& stops, std::ofstream& file) {
  int end = 0;
  int status = 0;
  std::set<pid_t> known{child};
  waitpid(child, &status, __WALL);
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, options);
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  while (const pid_t thread = stops.next(child, status)) {
    if (!WIFSTOPPED(status)) {
      if (thread == child) end = status;
      continue;
    }
    int signal = WSTOPSIG(status);
    const bool isNew = known.insert(thread).second;
    if (signal == kSyscallStop) {
      record(thread, file);
      signal = 0;
    } else if (status >> 16 != 0 || (signal == SIGSTOP && isNew)) {
      signal = 0;  // an event, or a new thread's first stop
    }
    ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<std::uintptr_t>(signal));
  }
  return end;
}

int run(const char* path, char** command) {
  std::ofstream file(path);
  const TracedStops stops;
  const pid_t child = start(command, stops);
  if (!file || child < 0) {
    std::fprintf(stderr, "record_calls: %s: %s\n", path, std::strerror(errno));
    return kNotStarted;
  }
  const int end = follow(child, stops, file);
  file.close();
  if (!file) return kNotStarted;
  return WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: record_calls FILE PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  return vfiogate::test::run(argv[1], argv + 2);
}
