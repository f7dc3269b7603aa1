#include "tests/support/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace vfiogate::test {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment, int output) {
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const std::string& variable : environment) {
    putenv(const_cast<char*>(variable.c_str()));
  }
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv.front(), argv.data());
  _exit(127);
}

}  // namespace

DaemonProcess::DaemonProcess(const std::vector<std::string>& command,
                             const std::vector<std::string>& environment) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become(command, environment, pipe[1]);
  close(pipe[1]);
  outputFd_ = pipe[0];
  running_ = true;
}

DaemonProcess::~DaemonProcess() {
  if (running_) end(SIGKILL);
  close(outputFd_);
}

bool DaemonProcess::waitForOutput(const std::string& text, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (output_.find(text) == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waited{.fd = outputFd_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waited, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<char, 4096> bytes{};
    const ssize_t length = read(outputFd_, bytes.data(), bytes.size());
    if (length <= 0) return false;
    output_.append(bytes.data(), static_cast<std::size_t>(length));
  }
  return true;
}

int DaemonProcess::end(int signal) {
  kill(pid_, signal);
  int status = 0;
  waitpid(pid_, &status, 0);
  running_ = false;
  return status;
}

}  // namespace vfiogate::test
