#pragma once
// The gRPC server of a DRA driver's registration socket: the kubelet asks who is there.

#include "plugind/dra/serve/dra_events.h"
#include "plugind/kubelet/handed_server.h"
#include "proto/pluginregistration.pb.h"

#include <kj/common.h>

#include <memory>
#include <mutex>
#include <string>

namespace vfiogate {

/// pluginregistration.Registration of one driver. Answers on the queue's thread, whatever the loop
/// is at: the kubelet waits 1 s and 5 s, and then takes the registration back (kubelet-contract.md
/// T24).
class RegistrationService final {
public:
  /// `events` hears of what the kubelet tells through `taskQueue` for as long as that is open.
  RegistrationService(const std::string& driver, DraEvents& events,
                      std::shared_ptr<TaskQueue> taskQueue);
  KJ_DISALLOW_COPY(RegistrationService);

  /// Any thread: the whole path of the service's socket.
  void setEndpoint(const std::string& endpoint);

  /// Answers GetInfo.
  void tellInfo(Responder& responder);
  /// Answers NotifyRegistrationStatus, and tells the loop.
  void takeStatus(Responder& responder, const pluginregistration::RegistrationStatus& told) const;

private:
  DraEvents& events_;
  const std::shared_ptr<TaskQueue> taskQueue_;
  std::mutex mutex_;
  pluginregistration::PluginInfo info_;
};

/// As HandedServer. The loop's thread only.
class RegistrationServer {
public:
  /// Takes connections of `kubeletUid` only.
  RegistrationServer(const std::string& driver, DraEvents& events, const LoopDeps& loop,
                     uid_t kubeletUid);
  KJ_DISALLOW_COPY(RegistrationServer);

  /// Answers on `listener` from now on, and that the service is at `endpoint`.
  void listenOn(kj::AutoCloseFd listener, const std::string& endpoint);

private:
  const std::shared_ptr<RegistrationService> service_;
  HandedServer server_;
};

}  // namespace vfiogate
