#pragma once
// Whether plugind can serve a pod now: what `plugind probe` and netd's /readyz tell.

#include "plugind/core/status/status.h"

#include <string>

namespace vfiogate {

struct PluginReadiness {
  bool ready = false;
  std::string why;  ///< for people, one line, never empty; names no pod and no holder

  friend bool operator==(const PluginReadiness&, const PluginReadiness&) = default;
};

/// Ready: privd is there, all holders are known again, every resource that has devices is
/// registered and streams unless it is for claims only, the DRA driver is registered and a netd dra
/// is connected where one is for claims, and no obstacle of the node keeps all of these devices
/// from being allocated. A configuration without any device is ready, and says so; so do obstacles
/// that leave something to allocate.
PluginReadiness readinessOf(const PluginStatus& status);

}  // namespace vfiogate
