// Usage: record_calls FILE PROGRAM [ARGUMENT...]
// Runs the program to its end and writes each system call that it is about to make, of all its
// threads and of all that it forks, from the execve that makes it on: a line of call number and six
// arguments, in hex. Nothing is changed; SIGTERM and SIGINT are passed on. Ends as the program.

#include "tests/support/seen/syscall_stop.h"
#include "tests/support/seen/traced_program.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr int kNotStarted = 127;

void record(pid_t thread, std::ofstream& file) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0) return;  // killed
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
  file << std::hex << info.entry.nr;
  for (const std::uint64_t arg : info.entry.args) file << ' ' << arg;
  file << '\n';
}

/// The child's end, as waitpid gives it.
int follow(const TracedProgram& program, std::ofstream& file) {
  int end = 0;
  int status = 0;
  std::set<pid_t> known{program.pid()};
  while (const pid_t thread = program.next(status)) {
    if (!WIFSTOPPED(status)) {
      if (thread == program.pid()) end = status;
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

int run(const char* path, const std::vector<std::string>& command) {
  std::ofstream file(path);
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  const int end = follow(TracedProgram(command), file);
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
  try {
    return vfiogate::test::run(argv[1], {argv + 2, argv + argc});
  } catch (const std::system_error& failure) {
    std::fprintf(stderr, "record_calls: %s\n", failure.what());
    return vfiogate::test::kNotStarted;
  }
}
