#pragma once
// Which programs the sandbox tests try to break out of, and how each is started.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "tests/support/seen/syscall_injector.h"

#include <sys/types.h>

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

namespace vfiogate::test {

/// What a column of the tables here is about.
enum class Role {
  kDaemon,
  kHardware,
  kGate,
  kBinder,
  kIommufd,
  kForkServer,
  kPlugind,
  kNetdMetrics,
  kNetdDra
};
inline constexpr std::array kRoles{Role::kDaemon,  Role::kHardware,    Role::kGate,
                                   Role::kBinder,  Role::kIommufd,     Role::kForkServer,
                                   Role::kPlugind, Role::kNetdMetrics, Role::kNetdDra};

/// One program under test.
struct DaemonUnderTest {
  std::string name;  ///< of the test instance: letters and digits
  Role role;
  std::vector<std::string> command;  ///< shipped program and arguments; {dir} is a fresh directory
  std::string readyText;             ///< it says this once it is locked down
  uid_t uid;                         ///< that every thread must have
};

/// All of them. The one place to change when a program is to be tested too.
std::vector<DaemonUnderTest> daemonsUnderTest();

/// The program stand_in_daemon.cc, for tests of the probes.
std::string standInProgram();

/// For test parameters: the name.
void PrintTo(const DaemonUnderTest& daemon, std::ostream* out);

/// A program under test that runs, in a directory of its own, until destroyed.
class RunningDaemon {
public:
  /// Starts it and waits until it is locked down.
  explicit RunningDaemon(const DaemonUnderTest& daemon);

  /// False if it ended, or never said that it is locked down: output() tells why.
  bool ready() const { return ready_; }
  std::string output() { return process_.output(); }
  /// Of the process that plays the role: the program, or one that it made.
  pid_t pid();

  /// Makes that process's main thread do `call`.
  CallOutcome inject(const ForeignCall& call);

private:
  TempDir directory_;
  Role role_;
  ChildProcess process_;
  bool ready_ = false;
};

}  // namespace vfiogate::test
