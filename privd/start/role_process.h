#pragma once
// One of privd's processes, as the daemon that starts it sees it.

#include "ipc/base/result.h"
#include "privd/start/role_plan.h"

#include <kj/io.h>

#include <sys/types.h>

#include <string>

namespace vfiogate {

/// For whoever cannot have the daemon start them.
inline constexpr const char* kSideBySide =
    "start privd-hardware as plugind's --hardware-uid, and privd-gate and, to bind, privd-binder "
    "as root, side by side";

/// Ends with this process, however that ends: it sees the end of the socket that it was given
/// (--ready-fd). It says on it by one byte that it is locked down and serves.
class RoleProcess {
public:
  /// From the program that lies beside this one, under its plan's arguments; `uid` is whom it
  /// becomes first, 0: nobody else. To be called while there is power. Error: in words, for people.
  static Result<RoleProcess, std::string> start(const RolePlan& plan, uid_t uid);

  /// One that runs already: our end of its socket.
  RoleProcess(PrivdRole role, kj::AutoCloseFd socket) : role_(role), socket_(kj::mv(socket)) {}

  /// Which one it was started as.
  PrivdRole role() const { return role_; }
  /// Readable when it serves, or has ended. Never waits.
  int fd() const { return socket_; }

  enum class State { kStarting, kServing, kEnded };
  /// What is known by now.
  State state();

  /// Asks it to end.
  void end() const;

private:
  PrivdRole role_;
  kj::AutoCloseFd socket_;
  State state_ = State::kStarting;
};

}  // namespace vfiogate
