#pragma once
// A local user who has nothing to do with vfiogate.

#include <grp.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace vfiogate::test {

inline constexpr uid_t kStranger = 65534;

/// What `act`, carried out by that user in a process of its own, returns: an errno, or 0. No
/// threads there, nothing that waits for one.
inline int asStranger(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    const bool became = setgroups(0, nullptr) == 0 &&
                        setresgid(kStranger, kStranger, kStranger) == 0 &&
                        setresuid(kStranger, kStranger, kStranger) == 0;
    _exit(became ? act() : 255);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

}  // namespace vfiogate::test
