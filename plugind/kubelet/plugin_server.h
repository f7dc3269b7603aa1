#pragma once
// The gRPC server of one resource.

#include "plugind/kubelet/device_plugin_service.h"
#include "plugind/kubelet/handed_server.h"

#include <memory>
#include <utility>

namespace vfiogate {

/// As HandedServer. The loop's thread only.
class PluginServer {
public:
  /// Takes connections of `kubeletUid` only.
  PluginServer(const ResourceName& resource, PluginEvents& events, const LoopDeps& loop,
               uid_t kubeletUid)
      : service_(std::make_shared<DevicePluginService>(resource, events, loop.taskQueue)),
        server_(resource.str(), methodsOf(service_), loop, kubeletUid) {}
  KJ_DISALLOW_COPY(PluginServer);

  /// Takes connections from `listener` from now on, and those that still wait in the one before.
  void listenOn(kj::AutoCloseFd listener) { server_.listenOn(kj::mv(listener)); }

  /// As of its service.
  void wantPreStart(bool wanted) { service_->wantPreStart(wanted); }
  bool toldPreStart() const { return service_->toldPreStart(); }

private:
  const std::shared_ptr<DevicePluginService> service_;
  HandedServer server_;
};

}  // namespace vfiogate
