#pragma once
// What the kubelet is shown after the hardware changed, and how soon.

#include "sim/node/machine_hardware.h"
#include "sim/node/tour.h"

#include <chrono>
#include <functional>
#include <set>
#include <string>

namespace vfiogate::sim {

/// A change must be seen within this; it costs only where something is broken.
constexpr std::chrono::seconds kNewsWithin{15};
/// For this long nothing may be seen where nothing was done.
constexpr std::chrono::seconds kUneventful{1};

/// A frame of a resource that is waited for.
struct Wanted {
  std::string resource;
  std::function<bool(const DeviceTable&)> holds;
};

Wanted exactly(const std::string& resource, const std::set<std::string>& healthy,
               const std::set<std::string>& unhealthy = {});

/// Acts, unless broken, and waits for the frame; says how long after the act it was there.
Seen awaitNews(Node& node, bool broken, const std::function<Act()>& act, const Wanted& wanted);

/// "12 ms".
std::string milliseconds(std::chrono::steady_clock::duration time);

/// True as soon as `holds`, within `patience`; for what the kernel tells nobody.
bool becomes(const std::function<bool()>& holds, std::chrono::milliseconds patience);

}  // namespace vfiogate::sim
