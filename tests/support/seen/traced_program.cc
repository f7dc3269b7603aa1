#include "tests/support/seen/traced_program.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace vfiogate::test {
namespace {

constexpr int kNotStarted = 127;

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  execv(argv.front(), argv.data());
  _exit(kNotStarted);
}

}  // namespace

TracedProgram::TracedProgram(const std::vector<std::string>& command) {
  sigemptyset(&waited_);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&waited_, signal);
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
  pid_ = fork();
  if (pid_ <= 0) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (pid_ == 0) become(command);
    throw std::system_error(error, std::generic_category(), "fork");
  }
  int status = 0;
  waitpid(pid_, &status, __WALL);
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, pid_, nullptr, options);
  ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr);
}

TracedProgram::~TracedProgram() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

pid_t TracedProgram::next(int& status) const {
  for (;;) {
    const pid_t thread = waitpid(-1, &status, __WALL | WNOHANG);
    if (thread > 0) return thread;
    if (thread < 0) return 0;
    int signal = 0;
    sigwait(&waited_, &signal);
    if (signal != SIGCHLD) kill(pid_, signal);
  }
}

}  // namespace vfiogate::test
