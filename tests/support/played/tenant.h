#pragma once
// A tenant who chose one of our users for a pod, and keeps what it took.

#include "tests/support/played/stranger.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <stdexcept>

namespace vfiogate::test {

/// A process of that user, in PID, mount and IPC namespaces of its own, as a pod's are: does what
/// it is to do, and lives until destroyed.
class Tenant {
public:
  Tenant(uid_t user, const std::function<int()>& act) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::runtime_error("socketpair");
    }
    leader_ = fork();
    if (leader_ == 0) {
      close(ends[0]);
      _exit(lead(user, act, ends[1]));
    }
    close(ends[1]);
    end_ = ends[0];
    if (read(end_, &outcome_, sizeof(outcome_)) != sizeof(outcome_)) outcome_ = 254;
  }
  ~Tenant() {
    close(end_);
    waitpid(leader_, nullptr, 0);
  }
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  /// What the act returned: an errno, or 0.
  int outcome() const { return outcome_; }

private:
  /// Descriptors as many as a container's runtime gives.
  static constexpr rlimit kDescriptors{.rlim_cur = 65'536, .rlim_max = 65'536};

  static int lead(uid_t user, const std::function<int()>& act, int told) {
    setrlimit(RLIMIT_NOFILE, &kDescriptors);
    int outcome = unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC) == 0 ? 0 : 253;
    if (outcome == 0) {
      // The first of its PID namespace.
      outcome = asUser(user, [&act, told]() {
        const int done = act();
        char byte = 0;
        const bool isTold = write(told, &done, sizeof(done)) == sizeof(done);
        return isTold && read(told, &byte, 1) == 0 ? 0 : 252;
      });
    }
    return outcome == 0 || write(told, &outcome, sizeof(outcome)) < 0 ? 0 : 1;
  }

  pid_t leader_ = -1;
  int end_ = -1;
  int outcome_ = 0;
};

}  // namespace vfiogate::test
