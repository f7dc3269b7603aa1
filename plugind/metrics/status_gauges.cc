#include "plugind/core/settings.h"
#include "plugind/core/status/known_codes.h"
#include "plugind/metrics/ledger_metrics.h"

#include <algorithm>
#include <array>
#include <set>

namespace vfiogate {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::array kHoldings{Holding::kFree,      Holding::kTaking,    Holding::kAnswered,
                               Holding::kAllocated, Holding::kForgotten, Holding::kLingering,
                               Holding::kForeign,   Holding::kReturning};

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

/// The devices that pods and claims have through `resource`.
double allocatedDevices(const ResourceStatus& resource) {
  std::set<UnitId> allocated;
  for (const DeviceStatus& device : resource.devices) {
    for (const HolderView& holder : device.group.holders) {
      if (holder.resource == resource.name) allocated.insert(holder.ids.begin(), holder.ids.end());
    }
  }
  return static_cast<double>(allocated.size());
}

double freeDevices(const ResourceStatus& resource) {
  return static_cast<double>(std::ranges::count_if(resource.devices, [](const auto& device) {
    return device.reason == "offered" && device.group.holding == Holding::kFree;
  }));
}

/// Whether the device plugin has to do with it.
bool isPlugins(const ResourceStatus& resource) {
  return servesPlugin(resource.allocation) || isRegistered(resource.facts.state);
}

/// How many of its devices somebody has, and how many can be allocated now.
void addOccupancy(const PluginStatus& status, std::vector<MetricFamily>& families) {
  auto allocated =
      family("vfiogate_resource_allocated_devices", "Devices that pods and claims have");
  auto free = family("vfiogate_resource_free_devices",
                     "Devices that can be allocated now: offered, and nobody has their group");
  for (const ResourceStatus& resource : status.resources) {
    add(allocated, {{"resource", resource.name.str()}}, allocatedDevices(resource));
    add(free, {{"resource", resource.name.str()}}, freeDevices(resource));
  }
  const auto served = std::ranges::count_if(status.resources, isPlugins);
  families.insert(families.end(), {std::move(allocated), std::move(free)});
  families.push_back(single("vfiogate_resources", "Resources to be served to the device plugin",
                            static_cast<double>(served)));
  families.push_back(single("vfiogate_resources_limit",
                            "The most resources that privd makes a socket for",
                            static_cast<double>(kMostResources)));
}

void addResources(const PluginStatus& status, std::vector<MetricFamily>& families) {
  auto registered = family("vfiogate_resource_registered", "1: the kubelet took the registration");
  auto turns = family("vfiogate_registrations_total",
                      "What happened to registrations: taken, refused, no-stream, stream-ended, "
                      "new-kubelet",
                      MetricType::Counter);
  auto streams = family("vfiogate_resource_streams", "Live ListAndWatch streams");
  auto devices = family("vfiogate_resource_devices", "Devices by what the kubelet sees of them");
  auto frames =
      family("vfiogate_resource_frames_total", "Frames sent on live streams", MetricType::Counter);
  for (const ResourceStatus& resource : status.resources) {
    const std::string name = resource.name.str();
    if (!isPlugins(resource)) continue;
    add(registered, {{"resource", name}}, isRegistered(resource.facts.state) ? 1 : 0);
    for (const RegistrationTurn turn : kRegistrationTurns) {
      const auto found = resource.facts.turns.find(turn);
      const auto times = found == resource.facts.turns.end() ? 0 : found->second;
      add(turns, {{"resource", name}, {"turn", std::string(nameOf(turn))}},
          static_cast<double>(times));
    }
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
  families.insert(families.end(), {registered, turns, streams, devices, frames});
}

void addReasons(const PluginStatus& status, std::vector<MetricFamily>& families) {
  std::map<std::string, double> counts;
  for (const std::string& reason : knownOfferReasons()) counts[reason] = 0;
  for (const auto& [address, why] : status.leftOut) ++counts[why.reason];
  for (const ResourceStatus& resource : status.resources) {
    for (const DeviceStatus& device : resource.devices) ++counts[device.reason];
  }
  auto devices = family("vfiogate_devices", "PCI functions: offered, or the reason why not");
  for (const auto& [reason, count] : counts) add(devices, {{"reason", reason}}, count);
  families.push_back(std::move(devices));
}

void addGroups(const PluginStatus& status, std::vector<MetricFamily>& families) {
  std::map<std::set<UnitId>, const GroupView*> groups;
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
  const auto disputed =
      std::ranges::count_if(groups, [](const auto& entry) { return entry.second->disputed; });
  auto held =
      family("vfiogate_groups_held", "IOMMU groups that somebody has, by who allocated them");
  for (const bool byClaim : {false, true}) {
    const auto count = std::ranges::count_if(groups, [byClaim](const auto& entry) {
      return std::ranges::any_of(entry.second->holders, [byClaim](const HolderView& holder) {
        return holder.claim.has_value() == byClaim;
      });
    });
    add(held, {{"path", byClaim ? "claim" : "plugin"}}, static_cast<double>(count));
  }
  families.push_back(std::move(holdings));
  families.push_back(std::move(held));
  families.push_back(single("vfiogate_groups_disputed",
                            "IOMMU groups that more than one party holds: look at once",
                            static_cast<double>(disputed)));
}

void addDra(const DriverStatus& dra, std::vector<MetricFamily>& families) {
  const bool registered = dra.registration == DraRegistrationState::kRegistered;
  families.push_back(single("vfiogate_dra_registered",
                            "1: the kubelet took the DRA driver's registration",
                            registered ? 1 : 0));
  families.push_back(single("vfiogate_dra_api_up", "1: netd dra is connected: claims can be read",
                            dra.apiThere ? 1 : 0));
  auto versions = family("vfiogate_dra_api_version",
                         "Of each version of resource.k8s.io, 1: netd dra publishes by it");
  for (const ResourceApi api : kResourceApis) {
    add(versions, {{"version", nameOf(api)}}, dra.resourceApi == api ? 1 : 0);
  }
  families.push_back(std::move(versions));
  auto devices = family("vfiogate_dra_pool_devices", "Devices in the pool that netd was told last");
  const auto tainted = static_cast<double>(dra.taintedDevices);
  add(devices, {{"taint", "no"}}, static_cast<double>(dra.poolDevices) - tainted);
  add(devices, {{"taint", "yes"}}, tainted);
  families.push_back(std::move(devices));
}

}  // namespace

std::vector<MetricFamily> gaugesOf(const PluginStatus& status) {
  std::vector<MetricFamily> families;
  auto build = family("vfiogate_build_info", "1: what plugind was built of");
  add(build,
      {{"version", std::string(status.build.version)},
       {"commit", std::string(status.build.commit)},
       {"date", std::string(status.build.date)}},
      1);
  families.push_back(std::move(build));
  families.push_back(single("vfiogate_privd_up", "1: privd is connected and told the hardware",
                            status.privdThere ? 1 : 0));
  families.push_back(single("vfiogate_allocation_open",
                            "1: an Allocate of a device that is free would be granted",
                            status.allocationOpen ? 1 : 0));
  families.push_back(single("vfiogate_adopted", "1: all holders are known again after the start",
                            status.adopted ? 1 : 0));
  addResources(status, families);
  addOccupancy(status, families);
  addReasons(status, families);
  addGroups(status, families);
  if (status.dra) addDra(*status.dra, families);
  return families;
}

std::vector<MetricFamily> figuresOf(const ProcessFigures& process) {
  auto cpu = family("vfiogate_plugind_cpu_seconds_total", "Processor time of plugind",
                    MetricType::Counter);
  add(cpu, {}, ProcessFigures::cpuSeconds());
  return {single("vfiogate_plugind_start_time_seconds", "When plugind started, since 1970",
                 process.startSeconds()),
          std::move(cpu),
          single("vfiogate_plugind_heap_bytes", "Memory that plugind's code has allocated",
                 ProcessFigures::heapBytes())};
}

std::vector<MetricFamily> countersOf(const DiscoveryCounts& counts) {
  const auto counter = [](const char* name, const char* help) {
    return family(name, help, MetricType::Counter);
  };
  const auto told = [&counts](DiscoveryCount count) { return static_cast<double>(counts[count]); };
  auto events = counter("vfiogate_uevents_total",
                        "Kernel events that privd heard, and events that did not come from it");
  add(events, {{"kind", "hint"}}, told(DiscoveryCount::kHints));
  add(events, {{"kind", "foreign"}}, told(DiscoveryCount::kForeign));
  auto losses =
      counter("vfiogate_uevent_losses_total", "Times that the kernel said that events were lost");
  add(losses, {}, told(DiscoveryCount::kLosses));
  auto rereads = counter("vfiogate_hardware_rereads_total",
                         "privd's readings of sysfs: of single places, of everything, or failed");
  add(rereads, {{"kind", "place"}}, told(DiscoveryCount::kRereads));
  add(rereads, {{"kind", "sweep"}}, told(DiscoveryCount::kSweeps));
  add(rereads, {{"kind", "failed"}}, told(DiscoveryCount::kFailedSweeps));
  auto time = counter("vfiogate_hardware_sweep_seconds_total", "Spent on readings of everything");
  add(time, {}, told(DiscoveryCount::kSweepNanoseconds) / 1e9);
  auto landlock = single("vfiogate_privd_landlock_abi",
                         "The kernel's Landlock by which privd is confined; 0: it is not",
                         told(DiscoveryCount::kLandlock));
  return {events, losses, rereads, time, landlock};
}

}  // namespace vfiogate
