#include "tests/support/process_limits.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace vfiogate::test {
namespace {

std::filesystem::path placeOf(pid_t process) {
  return "/proc/" + std::to_string(process);
}

rlimit descriptorLimit(pid_t process) {
  constexpr std::string_view kLimit = "Max open files";
  std::ifstream limits(placeOf(process) / "limits");
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(kLimit)) continue;
    rlimit found{};
    if (std::istringstream(line.substr(kLimit.size())) >> found.rlim_cur >> found.rlim_max) {
      return found;
    }
  }
  throw std::runtime_error("no limit of descriptors");
}

void limitTo(pid_t process, uid_t uid, __rlimit_resource resource, rlimit limit) {
  const pid_t child = fork();
  if (child == 0) {
    const bool itsUser = setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0;
    _exit(itsUser && prlimit(process, resource, &limit, nullptr) == 0 ? 0 : 1);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error("the limit is not changed");
  }
}

}  // namespace

rlim_t limitDescriptors(pid_t process, uid_t uid, rlim_t value) {
  const rlimit before = descriptorLimit(process);
  limitTo(process, uid, RLIMIT_NOFILE, {.rlim_cur = value, .rlim_max = before.rlim_max});
  return before.rlim_cur;
}

void leaveRoomForThree(pid_t process, uid_t uid) {
  std::set<rlim_t> taken;
  for (const auto& entry : std::filesystem::directory_iterator(placeOf(process) / "fd")) {
    taken.insert(std::stoul(entry.path().filename().string()));
  }
  rlim_t end = 0;
  for (int room = 0; room < 3; ++end) room += taken.contains(end) ? 0 : 1;
  lowerLimit(process, uid, RLIMIT_NOFILE, end);
}

void lowerLimit(pid_t process, uid_t uid, __rlimit_resource resource, rlim_t value) {
  limitTo(process, uid, resource, {.rlim_cur = value, .rlim_max = value});
}

}  // namespace vfiogate::test
