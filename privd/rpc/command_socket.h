#pragma once
// The socket on which the command line reaches the daemon.

#include "privd/gate/rights.h"
#include "privd/rpc/connection.h"

#include <kj/async-io.h>

#include <cstdint>
#include <map>

namespace vfiogate {

/// Serves whoever connects to `listener` and has rights: at most 4 connections a uid and 7 in all,
/// which leaves the eighth place to plugind. Who comes on top displaces the oldest that waits for
/// no answer, such as a `privd watch`; where all of them wait for one it is closed at once.
class CommandSocket final : private kj::TaskSet::ErrorHandler {
public:
  CommandSocket(Node& node, kj::AsyncIoContext& io, RolePolicy policy, kj::AutoCloseFd listener);

private:
  kj::Promise<void> acceptAll();
  void take(kj::AutoCloseFd fd);
  bool full(uid_t uid) const;
  void makeRoomFor(uid_t uid);
  void taskFailed(kj::Exception&& exception) override;

  Node& node_;
  kj::AsyncIoContext& io_;
  RolePolicy policy_;
  kj::AutoCloseFd listener_;
  kj::UnixEventPort::FdObserver observer_;
  struct Seat {
    uid_t uid;
    Connection* connection;  ///< its task has it
  };
  std::map<std::uint64_t, Seat> seats_;  ///< in the order of coming
  std::uint64_t lastSeat_ = 0;
  bool starved_ = false;  ///< of descriptors; told once, until all who wait were taken
  kj::TaskSet tasks_;     // last: they use all of the above
};

}  // namespace vfiogate
