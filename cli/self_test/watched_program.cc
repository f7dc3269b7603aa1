#include "cli/self_test/watched_program.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <system_error>

namespace vfiogate {
namespace {

/// Of the end of what was watched: failure, call and number on a line each, then the log.
std::string textOf(const SelfTest& test) {
  return test.failure + "\n" + test.killedCall + "\n" + std::to_string(test.killedNumber) + "\n" +
         test.log;
}

void readEnd(const std::string& text, SelfTest& test) {
  std::istringstream lines(text);
  std::string number;
  std::getline(lines, test.failure);
  std::getline(lines, test.killedCall);
  std::getline(lines, number);
  if (!number.empty()) test.killedNumber = std::stol(number);
  test.log.assign(std::istreambuf_iterator<char>(lines), {});
}

void tell(int fd, const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(fd, rest.data(), rest.size());
    if (written < 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void watch(int tells, std::span<const Rule> filter, kj::FunctionParam<int()>& serves) {
  SelfTest test;
  const auto end =
      watchThreads([&serves]() { _exit(serves()); }, filter,
                   [tells](pid_t child) { tell(tells, std::to_string(child) + "\n"); });
  if (end) {
    addEnd(test, *end);
  } else {
    tell(tells, "-1\n");
    test.failure = std::string("no child could be made: ") + strerror(end.error());
  }
  tell(tells, textOf(test));
  _exit(0);
}

}  // namespace

WatchedProgram::WatchedProgram(std::span<const Rule> filter, kj::FunctionParam<int()> serves) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  tells_ = kj::AutoCloseFd(ends[0]);
  const kj::AutoCloseFd told(ends[1]);
  watcher_ = fork();
  if (watcher_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (watcher_ == 0) watch(told.get(), filter, serves);
  readPid();
}

WatchedProgram::~WatchedProgram() {
  SelfTest unread;
  if (watcher_ > 0) stop(unread);
}

void WatchedProgram::readPid() {
  std::string line;
  for (char letter = 0; read(tells_, &letter, 1) == 1 && letter != '\n';) line += letter;
  if (!line.empty()) program_ = std::stoi(line);
}

bool WatchedProgram::isOver() const {
  pollfd told{.fd = tells_.get(), .events = POLLIN, .revents = 0};
  return poll(&told, 1, 0) > 0;
}

void WatchedProgram::stop(SelfTest& test) {
  // Its number is its own until its watcher has told how it ended.
  if (program_ > 0) kill(program_, SIGTERM);
  readEnd(readAll(tells_), test);
  waitpid(watcher_, nullptr, 0);
  watcher_ = -1;
}

}  // namespace vfiogate
