#include "tests/sandbox/daemons_under_test.h"

#include <filesystem>
#include <ostream>

namespace vfiogate::test {

std::vector<DaemonUnderTest> daemonsUnderTest() {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string standIn = beside / "stand_in_daemon";
  // LeakSanitizer would want to trace the process at its end.
  const std::vector<std::string> quiet{"ASAN_OPTIONS=detect_leaks=0"};
  return {
      {"StandInPrivd", Role::kPrivd, {standIn, "privd"}, quiet, "ready\n", 0},
      {"StandInPlugind", Role::kPlugind, {standIn, "plugind"}, quiet, "ready\n", 64532},
  };
}

void PrintTo(const DaemonUnderTest& daemon, std::ostream* out) {
  *out << daemon.name;
}

}  // namespace vfiogate::test
