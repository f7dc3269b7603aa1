#pragma once
// A program under test: started, listened to, ended.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::test {

/// How long a test waits for what must come; long, since it costs only where something is broken.
constexpr std::chrono::seconds kPatience{30};

/// The environment of a program that sets a filter: what a sanitizer does at the end and in new
/// threads is in none (ADR 0003).
std::map<std::string, std::string> filteredEnvironment();

class ChildProcess {
public:
  using Heard = std::function<void(const std::string& line)>;

  /// Starts `program` with its arguments; its standard output and error are read here. `heard` is
  /// told each line, on a thread of its own.
  explicit ChildProcess(const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment = {},
                        Heard heard = {});
  /// Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;

  /// Waits for the end; what it wrote is in output() then. The exit code, or 128 plus the signal
  /// that ended it.
  int wait();

  /// Somebody else, a tracer, has waited for its end.
  void waitedForElsewhere() { running_ = false; }

  /// True as soon as some line of its output, so far or within kPatience, contains `text`. False
  /// at once if its output has ended without.
  bool says(const std::string& text);
  /// True as soon as `times` lines contain all of `texts`, within `patience`.
  bool saysAll(const std::vector<std::string>& texts, std::size_t times = 1,
               std::chrono::seconds patience = kPatience);
  /// How many lines so far contain `text`.
  std::size_t count(const std::string& text);
  /// All lines so far, for failure texts.
  std::string output();
  /// All that it says until it closes its output.
  std::string outputWhole();

private:
  void collect(int fd);

  const Heard heard_;
  pid_t pid_ = -1;
  bool running_ = true;
  int exitCode_ = -1;
  std::mutex mutex_;
  std::condition_variable grew_;
  std::vector<std::string> lines_;
  bool outputEnded_ = false;
  std::thread reader_;
};

/// The shipped program of this name, as built beside the tests.
std::string builtProgram(const std::string& name);

/// Of what it was built, by its --version, in the words of a log line: "version=... commit=...
/// date=...".
std::string builtOf(const std::string& name);

}  // namespace vfiogate::test
