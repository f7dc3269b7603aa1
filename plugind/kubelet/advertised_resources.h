#pragma once
// All resources that the kubelet is told of.

#include "plugind/core/status/status.h"
#include "plugind/kubelet/advertised_resource.h"

#include <kj/async.h>

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>

namespace vfiogate {

/// The loop's thread only.
class AdvertisedResources {
public:
  /// Borrows `events` and `sockets`. `kubeletUid`: whose connections are taken.
  AdvertisedResources(PluginEvents& events, KubeletSockets& sockets, const LoopDeps& loop,
                      uid_t kubeletUid)
      : events_(events), sockets_(sockets), loop_(loop), kubeletUid_(kubeletUid) {}
  KJ_DISALLOW_COPY(AdvertisedResources);

  /// Null: it is not advertised.
  AdvertisedResource* find(const ResourceName& name) const;
  /// From now on it is served and kept registered.
  AdvertisedResource& start(const ResourceName& name);
  /// Its server goes in the next turn of the loop: what is ended may be what called.
  void end(const ResourceName& name);

  /// Of each, as `wants` says of its name.
  void wantPreStart(const std::function<bool(const ResourceName&)>& wants);

  void kubeletCame();
  void socketsCame();
  /// Repeats a frame to one live stream. False: there is none.
  bool resend();

  std::size_t size() const { return resources_.size(); }
  std::map<ResourceName, ResourceFacts> facts() const;

private:
  PluginEvents& events_;
  KubeletSockets& sockets_;
  const LoopDeps loop_;
  const uid_t kubeletUid_;
  std::map<ResourceName, std::unique_ptr<AdvertisedResource>> resources_;
  kj::Promise<void> ending_ = kj::READY_NOW;
};

}  // namespace vfiogate
