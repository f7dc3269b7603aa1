#include "plugind/metrics/status_gauges.h"

#include <algorithm>
#include <array>
#include <set>

namespace vfiogate {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::array kHoldings{Holding::kFree,    Holding::kTaking,    Holding::kAnswered,
                               Holding::kLent,    Holding::kForgotten, Holding::kLingering,
                               Holding::kForeign, Holding::kReturning};

MetricFamily family(const char* name, const char* help, MetricType type = MetricType::Gauge) {
  MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  return made;
}

void add(MetricFamily& to, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (to.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  to.metric.push_back(std::move(metric));
}

MetricFamily single(const char* name, const char* help, double value) {
  MetricFamily made = family(name, help);
  add(made, {}, value);
  return made;
}

void addResources(const PluginStatus& status, std::vector<MetricFamily>& families) {
  auto registered = family("vfiogate_resource_registered", "1: the kubelet took the registration");
  auto streams = family("vfiogate_resource_streams", "Live ListAndWatch streams");
  auto devices = family("vfiogate_resource_devices", "Devices by what the kubelet sees of them");
  auto frames =
      family("vfiogate_resource_frames_total", "Frames sent on live streams", MetricType::Counter);
  for (const ResourceStatus& resource : status.resources) {
    const std::string name = resource.name.str();
    add(registered, {{"resource", name}}, resource.facts.registered ? 1 : 0);
    add(streams, {{"resource", name}}, static_cast<double>(resource.facts.streams));
    add(frames, {{"resource", name}}, static_cast<double>(resource.facts.framesSent));
    double healthy = 0;
    double unhealthy = 0;
    for (const DeviceStatus& device : resource.devices) {
      if (device.shown) ++(device.healthy ? healthy : unhealthy);
    }
    const auto hidden = static_cast<double>(resource.devices.size()) - healthy - unhealthy;
    add(devices, {{"resource", name}, {"health", "healthy"}}, healthy);
    add(devices, {{"resource", name}, {"health", "unhealthy"}}, unhealthy);
    add(devices, {{"resource", name}, {"health", "hidden"}}, hidden);
  }
  families.insert(families.end(), {registered, streams, devices, frames});
}

void addGroups(const PluginStatus& status, std::vector<MetricFamily>& families) {
  std::map<std::set<Bdf>, const GroupView*> groups;
  for (const ResourceStatus& resource : status.resources) {
    for (const DeviceStatus& device : resource.devices) {
      groups.emplace(device.group.members, &device.group);
    }
  }
  for (const GroupView& gone : status.gone) groups.emplace(gone.members, &gone);
  auto holdings = family("vfiogate_groups", "IOMMU groups of our resources by state");
  for (const Holding holding : kHoldings) {
    const auto count = std::ranges::count_if(
        groups, [holding](const auto& entry) { return entry.second->holding == holding; });
    add(holdings, {{"state", std::string(nameOf(holding))}}, static_cast<double>(count));
  }
  const auto disputed = std::ranges::count_if(
      groups, [](const auto& entry) { return entry.second->holders.size() > 1; });
  families.push_back(std::move(holdings));
  families.push_back(single("vfiogate_groups_disputed",
                            "IOMMU groups that more than one party holds: look at once",
                            static_cast<double>(disputed)));
}

}  // namespace

std::vector<MetricFamily> gaugesOf(const PluginStatus& status) {
  std::vector<MetricFamily> families;
  families.push_back(single("vfiogate_privd_there", "1: privd is connected and told the hardware",
                            status.privdThere ? 1 : 0));
  families.push_back(single("vfiogate_lending_open", "1: requests of the kubelet can be granted",
                            status.lendingOpen ? 1 : 0));
  families.push_back(single("vfiogate_adopted", "1: all holders are known again after the start",
                            status.adopted ? 1 : 0));
  addResources(status, families);
  addGroups(status, families);
  return families;
}

}  // namespace vfiogate
