#include "plugind/core/readiness.h"

#include <algorithm>
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

}  // namespace

PluginReadiness readinessOf(const PluginStatus& status) {
  if (!status.privdThere) return {false, "privd is away"};
  if (!status.begun) return {false, "not adopted: the kubelet's memory was not read yet"};
  if (!status.adopted) return {false, "not adopted: the first look at all holders is not over"};
  std::size_t withDevices = 0;
  std::vector<const ResourceStatus*> unserved;
  for (const ResourceStatus& resource : status.resources) {
    if (resource.devices.empty()) continue;
    ++withDevices;
    if (!isServed(resource)) unserved.push_back(&resource);
  }
  if (!unserved.empty()) return {false, "not registered and streaming: " + listOf(unserved)};
  if (withDevices == 0) return {true, "ready: no device of the configuration is on this node"};
  return {true, "ready: resources registered and streaming: " + std::to_string(withDevices)};
}

}  // namespace vfiogate
