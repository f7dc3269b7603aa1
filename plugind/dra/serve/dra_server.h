#pragma once
// The gRPC servers of a DRA driver, on the two listeners that privd made.

#include "plugind/dra/serve/dra_events.h"
#include "plugind/dra/serve/dra_service.h"
#include "plugind/dra/serve/registration_server.h"
#include "plugind/kubelet/handed_server.h"

#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Serves for as long as it lives. The loop's thread only.
class DraServer {
public:
  /// Takes connections of `kubeletUid` only. Borrows `events`.
  DraServer(const std::string& driver, DraEvents& events, const LoopDeps& loop, uid_t kubeletUid)
      : server_(driver, draMethods(events, loop.taskQueue), loop, kubeletUid),
        registration_(driver, events, loop, kubeletUid) {}
  KJ_DISALLOW_COPY(DraServer);

  /// Both versions of DRAPlugin, and DRAResourceHealth, in place of the listener before.
  void serveOn(kj::AutoCloseFd service) { server_.listenOn(kj::mv(service)); }
  /// The kubelet is told that the service is at `endpoint`, its whole path.
  void registerOn(kj::AutoCloseFd registration, const std::string& endpoint) {
    registration_.listenOn(kj::mv(registration), endpoint);
  }

private:
  HandedServer server_;
  RegistrationServer registration_;
};

}  // namespace vfiogate
