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

/// What `act` returns, carried out in a process of its own: an errno, or 0. No threads there,
/// nothing that waits for one.
inline int inAProcess(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/// The same, by that user.
inline int asUser(uid_t user, const std::function<int()>& act) {
  return inAProcess([user, &act]() {
    const bool became = setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 &&
                        setresuid(user, user, user) == 0;
    return became ? act() : 255;
  });
}

inline int asStranger(const std::function<int()>& act) {
  return asUser(kStranger, act);
}

}  // namespace vfiogate::test
