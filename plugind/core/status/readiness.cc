#include "plugind/core/status/status.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace vfiogate {
namespace {

/// Of several resources that fail alike, so that the text stays one line.
constexpr std::size_t kMostNamed = 3;

bool isServed(const ResourceStatus& resource) {
  return resource.facts.state == RegistrationState::kStanding && resource.facts.streams > 0;
}

std::string listOf(const std::vector<const ResourceStatus*>& resources) {
  std::string text;
  for (std::size_t i = 0; i < std::min(resources.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + resources[i]->name.str() + " (" +
            std::string(nameOf(resources[i]->facts.state)) + ")";
  }
  if (resources.size() <= kMostNamed) return text;
  return text + " and " + std::to_string(resources.size() - kMostNamed) + " more";
}

bool anyReady(const PluginStatus& status) {
  return std::ranges::any_of(status.resources, [](const ResourceStatus& resource) {
    return std::ranges::any_of(resource.devices, [](const DeviceStatus& device) {
      return device.hardware == "ready" || device.hardware == "bindable";
    });
  });
}

std::string textOf(const NodeObstacle& obstacle) {
  return std::string(obstacle.code) + ": " + std::string(obstacle.fix);
}

/// What is ready all the same says what is the matter with the node.
std::string withObstacles(std::string text, const PluginStatus& status) {
  for (const NodeObstacle& obstacle : status.obstacles) text += "; " + textOf(obstacle);
  return text;
}

/// Why claims cannot be served; absent: they can.
std::optional<std::string> claimsWait(const DriverStatus& dra) {
  if (dra.registration != DraRegistrationState::kRegistered) {
    return "not registered with the kubelet: DRA driver " + dra.driver + " (" +
           std::string(nameOf(dra.registration)) + ")";
  }
  if (!dra.apiThere) return "netd dra is not connected: claims cannot be read";
  return std::nullopt;
}

}  // namespace

PluginReadiness readinessOf(const PluginStatus& status) {
  if (!status.privdThere) {
    const bool one = status.privdMissing.size() == 1;
    return {false, (one ? status.privdMissing.front() : "privd") + " is away"};
  }
  if (!status.begun) return {false, "not adopted: the kubelet's memory was not read yet"};
  if (!status.adopted)
    return {false, "not adopted: the first reconcile of all holders is not over"};
  std::size_t withDevices = 0;
  std::size_t toClaims = 0;
  std::size_t registered = 0;
  std::vector<const ResourceStatus*> unserved;
  for (const ResourceStatus& resource : status.resources) {
    if (resource.devices.empty()) continue;
    ++withDevices;
    if (servesDra(resource.allocation)) ++toClaims;
    if (!servesPlugin(resource.allocation)) continue;
    ++registered;
    if (!isServed(resource)) unserved.push_back(&resource);
  }
  if (withDevices > 0 && !status.obstacles.empty() && !anyReady(status)) {
    return {false, textOf(status.obstacles.front())};
  }
  if (!unserved.empty()) return {false, "not registered and streaming: " + listOf(unserved)};
  if (toClaims > 0 && status.dra) {
    if (auto why = claimsWait(*status.dra)) return {false, *std::move(why)};
  }
  if (withDevices == 0) {
    return {true, withObstacles("ready: no device of the configuration is on this node", status)};
  }
  std::string text = "ready: resources registered and streaming: " + std::to_string(registered);
  if (toClaims > 0) text += ", served to claims: " + std::to_string(toClaims);
  return {true, withObstacles(std::move(text), status)};
}

}  // namespace vfiogate
