#include "sim/sysfs/sim_process.h"

#include <fcntl.h>
#include <kj/io.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sim/sysfs/control/control_client.h"

namespace vfiogate::sim {
namespace {

constexpr int kPatienceMs = 60'000;

/// What the program says up to its first line, on either output.
std::string firstLine(int outputFd) {
  std::string text;
  std::array<char, 1024> buffer{};
  while (text.find('\n') == std::string::npos) {
    const ssize_t got = ::read(outputFd, buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

[[noreturn]] void becomeProgram(const SimProcess::Options& options, int outputFd) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a killed test leaves no mount behind
  ::dup2(outputFd, STDOUT_FILENO);
  ::dup2(outputFd, STDERR_FILENO);
  const std::string seed = std::to_string(options.seed);
  ::execl(options.program.c_str(), options.program.c_str(), "mount", "--topology",
          options.topology.c_str(), "--dir", options.directory.c_str(), "--ctl",
          options.control.c_str(), "--uevents", options.uevents.c_str(), "--seed", seed.c_str(),
          "--nodes", options.nodes.c_str(), nullptr);
  const std::string why = options.program + ": " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<SimProcess>, std::string> SimProcess::start(const Options& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Failure{std::string(std::strerror(errno))};
  const kj::AutoCloseFd output(ends[0]);
  kj::AutoCloseFd input(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Failure{std::string(std::strerror(errno))};
  if (pid == 0) becomeProgram(options, input.get());
  input = nullptr;
  const std::string said = firstLine(output.get());
  std::unique_ptr<SimProcess> process(new SimProcess(options, pid));
  if (!said.starts_with("ready:")) return Failure{said.empty() ? "it said nothing" : said};
  return process;
}

SimProcess::~SimProcess() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

std::string SimProcess::command(const std::string& line) const {
  const ControlRequest request(options_.control, line);
  pollfd readable{request.fd(), POLLIN, 0};
  if (poll(&readable, 1, kPatienceMs) == 0) return "error: no answer to \"" + line + "\"\n";
  const auto answer = request.answer();
  return answer ? *answer : "error: " + answer.error() + "\n";
}

}  // namespace vfiogate::sim
