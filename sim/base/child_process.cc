#include "sim/base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>
#include <stdexcept>

extern char** environ;

namespace vfiogate::test {
namespace {

/// How long a process that the program started, and that outlives it, may keep its output open.
constexpr std::chrono::seconds kOutlived{2};

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!extra.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : extra) merged.push_back(name + "=" + value);
  return merged;
}

pid_t spawn(std::vector<std::string> command, std::vector<std::string> environment, int outputFd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, outputFd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, outputFd, STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, command.front().c_str(), &actions, nullptr,
                                pointersTo(command).data(), pointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + command.front());
  return pid;
}

}  // namespace

std::map<std::string, std::string> filteredEnvironment() {
  return {{"ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0"}};
}

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment, Heard heard)
    : heard_(std::move(heard)) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  pid_ = spawn(command, mergedEnvironment(environment), pipe[1]);
  close(pipe[1]);
  reader_ = std::thread([this, fd = pipe[0]]() { collect(fd); });
}

ChildProcess::~ChildProcess() {
  if (running_) {
    signal(SIGKILL);
    wait();
  }
  reader_.join();
}

void ChildProcess::signal(int number) const {
  if (running_) kill(pid_, number);
}

int ChildProcess::wait() {
  if (!running_) return exitCode_;
  int status = 0;
  waitpid(pid_, &status, 0);
  running_ = false;
  exitCode_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::unique_lock lock(mutex_);
  grew_.wait_for(lock, kOutlived, [this]() { return outputEnded_; });
  return exitCode_;
}

bool ChildProcess::says(const std::string& text) {
  return saysAll({text});
}

bool ChildProcess::saysAll(const std::vector<std::string>& texts, std::size_t times,
                           std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  const auto said = [&]() {
    const auto matching = std::ranges::count_if(lines_, [&texts](const std::string& line) {
      return std::ranges::all_of(
          texts, [&line](const std::string& text) { return line.find(text) != std::string::npos; });
    });
    return static_cast<std::size_t>(matching) >= times;
  };
  grew_.wait_for(lock, patience, [&]() { return outputEnded_ || said(); });
  return said();
}

std::size_t ChildProcess::count(const std::string& text) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      lines_, [&text](const std::string& line) { return line.find(text) != std::string::npos; }));
}

std::string ChildProcess::output() {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& line : lines_) all += line + "\n";
  return all;
}

std::string ChildProcess::outputWhole() {
  std::unique_lock lock(mutex_);
  grew_.wait(lock, [this]() { return outputEnded_; });
  std::string all;
  for (const std::string& line : lines_) all += line + "\n";
  return all;
}

void ChildProcess::collect(int fd) {
  std::string pending;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    pending.append(buffer.data(), static_cast<std::size_t>(got));
    const std::lock_guard lock(mutex_);
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
      lines_.push_back(pending.substr(0, end));
      if (heard_) heard_(lines_.back());
      pending.erase(0, end + 1);
    }
    grew_.notify_all();
  }
  close(fd);
  const std::lock_guard lock(mutex_);
  outputEnded_ = true;
  grew_.notify_all();
}

std::string builtProgram(const std::string& name) {
  const char* directory = std::getenv("VFIOGATE_BIN");
  if (directory == nullptr) throw std::runtime_error("VFIOGATE_BIN is not set: run by ctest");
  return std::string(directory) + "/" + name;
}

std::string builtOf(const std::string& name) {
  const std::string said = ChildProcess({builtProgram(name), "--version"}).outputWhole();
  std::smatch parts;
  if (!std::regex_search(said, parts, std::regex(R"((\S+) \(commit ([^,]+), (\S+)\))"))) {
    throw std::runtime_error(name + " --version: " + said);
  }
  return "version=" + parts[1].str() + " commit=" + parts[2].str() + " date=" + parts[3].str();
}

}  // namespace vfiogate::test
