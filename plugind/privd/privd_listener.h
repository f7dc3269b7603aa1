#pragma once
// Where privd dials in, one at a time. plugind's own user and netd's may visit, whoever else dials
// is sent away.

#include "plugind/base/task_queue.h"
#include "plugind/base/visitor.h"

#include <kj/async-unix.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/io.h>

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace vfiogate {

/// What privd sent before Cap'n Proto starts.
struct PrivdOpening {
  kj::AutoCloseFd connection;
  kj::AutoCloseFd channel;  ///< to the gate
};

/// Takes connections for as long as it lives. The loop's thread only.
class PrivdListener final : private kj::TaskSet::ErrorHandler {
public:
  /// Whose connections are taken, and as what. Where two are the same the upper one wins.
  struct Users {
    uid_t privd;
    uid_t own;   ///< plugind's: visitors
    uid_t netd;  ///< visitors with fewer rights
  };

  /// Events of a new plugind or netd connection.
  struct Arrivals {
    kj::Function<void(PrivdOpening)> privd;
    kj::Function<void(const std::string&)> failed;  ///< privd dialled, and did not open: why
    kj::Function<void(kj::AutoCloseFd, Visitor)> visitor;
  };

  /// `listener` is plugind's own.
  PrivdListener(kj::AutoCloseFd listener, Users users, const LoopDeps& loop);
  KJ_DISALLOW_COPY(PrivdListener);

  /// Starts taking connections. Call once.
  void start(Arrivals to);

  /// As long as one is in, no other privd is let in.
  void privdIsIn(bool inside) { inside_ = inside; }

private:
  kj::Promise<void> acceptForever();
  void takeConnections();
  void admit(kj::AutoCloseFd connection);
  kj::Promise<void> awaitOpening(kj::AutoCloseFd connection);
  void opened(PrivdOpening opening);
  void refuse(const char* why, uid_t uid);
  void taskFailed(kj::Exception&& exception) override;

  kj::AutoCloseFd listener_;
  const Users users_;
  const LoopDeps loop_;
  kj::UnixEventPort::FdObserver readable_;
  Arrivals to_{[](PrivdOpening) {}, [](const std::string&) {}, [](kj::AutoCloseFd, Visitor) {}};
  bool inside_ = false;
  bool starved_ = false;  ///< of descriptors, which is told once
  unsigned openings_ = 0;
  std::uint64_t refused_ = 0;
  kj::TimePoint refusalTold_ = kj::origin<kj::TimePoint>();
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
