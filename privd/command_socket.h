#pragma once
// The socket on which the command line reaches the daemon.

#include "privd/connection.h"
#include "privd/rights.h"

#include <kj/async-io.h>

#include <map>

namespace vfiogate {

/// Serves whoever connects to `listener` and has rights: at most 4 connections a uid and 7 in all,
/// which leaves the eighth place to plugind. Who comes on top is closed at once.
class CommandSocket final : private kj::TaskSet::ErrorHandler {
public:
  CommandSocket(Node& node, kj::AsyncIoContext& io, RolePolicy policy, kj::AutoCloseFd listener);

private:
  kj::Promise<void> acceptAll();
  void take(kj::AutoCloseFd fd);
  void leave(uid_t uid);
  void taskFailed(kj::Exception&& exception) override;

  Node& node_;
  kj::AsyncIoContext& io_;
  RolePolicy policy_;
  kj::AutoCloseFd listener_;
  kj::UnixEventPort::FdObserver observer_;
  std::map<uid_t, unsigned> connections_;
  bool starved_ = false;  ///< of descriptors; told once, until all who wait were taken
  unsigned total_ = 0;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
