#pragma once
// Where privd's processes dial in, one of each role at a time. plugind's own user and netd's may
// visit, whoever else dials is sent away.

#include "ipc/gate/opening.h"
#include "plugind/base/task_queue.h"
#include "plugind/base/visitor.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace vfiogate {

/// Takes connections for as long as it lives. The loop's thread only.
class PrivdListener final : private kj::TaskSet::ErrorHandler {
public:
  /// Whose connections are taken, and as what. Where two are the same the upper one wins; of
  /// privd's two its opening says which it is.
  struct Users {
    uid_t privd;     ///< of its gate and its binder
    uid_t hardware;  ///< of its hardware process
    uid_t own;       ///< plugind's: visitors
    uid_t netd;      ///< visitors with fewer rights
  };

  /// Events of a new plugind or netd connection.
  struct Arrivals {
    /// The connection of the hardware process, or plugind's end of the role's channel. From then
    /// on the role is in, until setAway().
    kj::Function<void(PrivdRole, kj::AutoCloseFd)> privd;
    kj::Function<void(const std::string&)> failed;  ///< privd dialled, and did not open: why
    kj::Function<void(kj::AutoCloseFd, Visitor)> visitor;
  };

  /// `listener` is plugind's own.
  PrivdListener(kj::AutoCloseFd listener, Users users, const LoopDeps& loop);
  KJ_DISALLOW_COPY(PrivdListener);

  /// Starts taking connections. Call once.
  void start(Arrivals to);

  /// As long as one is in, no other of its role is let in.
  void setAway(PrivdRole role) { inside(role) = false; }
  bool isIn(PrivdRole role) const { return inside_[static_cast<std::size_t>(role)]; }

private:
  kj::Promise<void> acceptForever();
  void takeConnections();
  void admit(kj::AutoCloseFd connection);
  kj::Promise<void> awaitOpening(kj::AutoCloseFd connection, uid_t uid);
  void opened(kj::AutoCloseFd connection, Opening opening, uid_t uid);
  bool& inside(PrivdRole role) { return inside_[static_cast<std::size_t>(role)]; }
  bool hasRoom(uid_t uid) const;
  void refuse(const std::string& why, uid_t uid, uid_t wanted);
  void taskFailed(kj::Exception&& exception) override;

  kj::AutoCloseFd listener_;
  const Users users_;
  const LoopDeps loop_;
  kj::UnixEventPort::FdObserver readable_;
  Arrivals to_{[](PrivdRole, kj::AutoCloseFd) {}, [](const std::string&) {},
               [](kj::AutoCloseFd, Visitor) {}};
  std::array<bool, kPrivdRoles> inside_{};
  bool starved_ = false;  ///< of descriptors, which is told once
  // What has not said yet who it is. Counted by its user: one cannot keep the other out.
  unsigned rootOpenings_ = 0;
  unsigned hardwareOpenings_ = 0;
  std::uint64_t refused_ = 0;
  kj::TimePoint refusalTold_ = kj::origin<kj::TimePoint>();
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
