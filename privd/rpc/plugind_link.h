#pragma once
// The connection to plugind: privd dials it, again whenever either comes back.

#include "privd/base/name_watch.h"
#include "privd/gate/rights.h"
#include "privd/rpc/connection.h"
#include "privd/rpc/gate_process.h"

#include <kj/async-io.h>

namespace vfiogate {

/// Dials the socket on which plugind listens, for as long as it lives: 5 ms after the socket
/// appears, and otherwise after 50 ms, doubling up to 2 s.
class PlugindLink {
public:
  /// `socketMade` watches for the last part of `path`; made before the filter forbids it.
  PlugindLink(Node& node, const GateProcess& gate, kj::AsyncIoContext& io, RolePolicy policy,
              kj::StringPtr path, NameWatch& socketMade);

private:
  kj::Promise<void> dial();
  kj::Promise<void> serve(kj::AutoCloseFd fd, Rights rights);
  kj::Promise<void> pauseAndDial();

  Node& node_;
  const GateProcess& gate_;
  kj::AsyncIoContext& io_;
  RolePolicy policy_;
  kj::String path_;
  NameWatch& socketMade_;
  kj::Duration pause_;
  bool absenceTold_ = false;
  kj::Promise<void> task_;  // last: it uses all of the above
};

}  // namespace vfiogate
