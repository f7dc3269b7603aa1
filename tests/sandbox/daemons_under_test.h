#pragma once
// Which programs the sandbox tests lock themselves on, and how each is started.

#include <sys/types.h>

#include <iosfwd>
#include <string>
#include <vector>

namespace vfiogate::test {

/// What a column of the tables here is about.
enum class Role { kPrivd, kPlugind };

/// One program under test.
struct DaemonUnderTest {
  std::string name;  ///< of the test instance: letters and digits
  Role role;
  std::vector<std::string> command;      ///< program path and arguments
  std::vector<std::string> environment;  ///< "NAME=value", beside this process's own
  std::string readyText;                 ///< it says this once it is locked down
  uid_t uid;                             ///< that every thread must have
};

/// All of them. The one place to change when a program is to be tested too.
std::vector<DaemonUnderTest> daemonsUnderTest();

/// For test parameters: the name.
void PrintTo(const DaemonUnderTest& daemon, std::ostream* out);

}  // namespace vfiogate::test
