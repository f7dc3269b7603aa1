#pragma once
// Whether plugind can serve a pod now: what `plugind probe` and netd's /readyz tell.

#include "plugind/core/status.h"

#include <string>

namespace vfiogate {

struct PluginReadiness {
  bool ready = false;
  std::string why;  ///< for people, one line, never empty; names no pod and no holder

  friend bool operator==(const PluginReadiness&, const PluginReadiness&) = default;
};

/// Ready: privd is there, all holders are known again, and every resource that has devices is
/// registered and streams. A configuration without any device is ready, and says so.
PluginReadiness readinessOf(const PluginStatus& status);

}  // namespace vfiogate
