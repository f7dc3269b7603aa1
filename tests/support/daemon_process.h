#pragma once
// A program under test as a child process: started, awaited by what it says, looked at, ended.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Runs a program until destroyed. Its standard input is empty; output and error come here.
class DaemonProcess {
public:
  /// Starts `command` (program path and arguments) with `environment` added to this one's.
  /// Throws std::system_error if it cannot be started.
  explicit DaemonProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment = {});
  // Kills and reaps what still runs.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits until the output holds `text`. False if it ended or `limit` passed before; output()
  /// then tells why.
  bool waitForOutput(const std::string& text,
                     std::chrono::milliseconds limit = std::chrono::seconds(20));

  /// All that it has said so far, as far as it was waited for.
  const std::string& output() const { return output_; }

  /// Sends `signal` and waits for the end. The status as waitpid gives it.
  int end(int signal);

  /// Somebody else (a tracer) has waited for the end.
  void reaped() { running_ = false; }

private:
  pid_t pid_ = -1;
  int outputFd_ = -1;
  bool running_ = false;
  std::string output_;
};

}  // namespace vfiogate::test
