#pragma once
// A running sim-sysfs program, for tests and for programs that bring up a whole node.

#include <sys/types.h>

#include <memory>
#include <string>

#include "ipc/base/result.h"

namespace vfiogate::sim {

/// Runs in the caller's mount and network namespaces. Ends with its owner.
class SimProcess {
public:
  struct Options {
    std::string program;    ///< path of sim-sysfs
    std::string topology;   ///< topology file
    std::string directory;  ///< exists, empty: gets "sys" and "dev"
    std::string control;    ///< command socket
    std::string uevents = "on";
    unsigned seed = 1;             ///< for uevents "thrice"
    std::string nodes = "closed";  ///< "open": device nodes can be opened
  };

  /// Starts the program and waits until it is ready. Fails with what it said.
  static Result<std::unique_ptr<SimProcess>, std::string> start(const Options& options);

  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  /// Gives a command and returns the answer, "ok\n" or "error: ...\n" among others: the latter,
  /// too, where none comes within a minute.
  std::string command(const std::string& line) const;

  std::string control() const { return options_.control; }
  std::string sysfs() const { return options_.directory + "/sys"; }
  std::string dev() const { return options_.directory + "/dev"; }

private:
  SimProcess(Options options, pid_t pid) : options_(std::move(options)), pid_(pid) {}

  Options options_;
  pid_t pid_;
};

}  // namespace vfiogate::sim
