#include "sim/kubelet_program/cluster.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace vfiogate::sim {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

/// Columns as wide as their widest cell, three blanks between them.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::ostringstream text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      text << std::left << std::setw(static_cast<int>(widths[i] + 3)) << row[i];
    }
    text << row.back() << "\n";
  }
  return text.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text.empty() ? "<none>" : text;
}

std::vector<std::string> devicesOf(Cluster& cluster, const std::string& uid,
                                   const std::string& container = "") {
  std::vector<std::string> ids;
  for (const CheckpointEntry& entry : cluster.kubelet().records()) {
    if (entry.podUid != uid || (!container.empty() && entry.container != container)) continue;
    for (const auto& [node, some] : entry.devices) ids.insert(ids.end(), some.begin(), some.end());
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());  // clang 14 cannot read the ranges one
  return ids;
}

std::string phaseText(const KnownPod& pod) {
  switch (pod.phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
  }
  return "Unknown";
}

std::string statusText(const KnownPod& pod) {
  if (!pod.reason.empty()) return pod.reason;
  return pod.phase == PodPhase::kSucceeded ? "Completed" : phaseText(pod);
}

std::string ageText(const KnownPod& pod) {
  const auto passed = std::chrono::steady_clock::now() - pod.made;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(passed).count();
  return seconds < 120 ? std::to_string(seconds) + "s" : std::to_string(seconds / 60) + "m";
}

std::size_t restartsOf(const KnownPod& pod) {
  std::size_t restarts = 0;
  for (const auto& [container, starts] : pod.starts) restarts += starts - 1;
  return restarts;
}

std::size_t readyOf(Cluster& cluster, const KnownPod& pod) {
  const auto running = cluster.running(pod);
  return static_cast<std::size_t>(std::ranges::count_if(
      pod.spec.containers,
      [&](const ContainerSpec& container) { return running.contains(container.name); }));
}

Json allocatedStatus(Cluster& cluster, const KnownPod& pod, const ContainerSpec& container) {
  Json list = Json::array();
  for (const auto& [resource, count] : container.limits) {
    Json devices = Json::array();
    const DeviceTable known = cluster.kubelet().devices(resource);
    for (const CheckpointEntry& entry : cluster.kubelet().records()) {
      if (entry.podUid != pod.spec.uid || entry.container != container.name ||
          entry.resource != resource) {
        continue;
      }
      for (const auto& [node, ids] : entry.devices) {
        for (const std::string& id : ids) {
          // Devices that the kubelet does not know are shown healthy (1.13).
          const bool sick = known.lists(id) && !known.healthy().contains(id);
          devices.push_back({{"resourceID", id}, {"health", sick ? "Unhealthy" : "Healthy"}});
        }
      }
    }
    if (!devices.empty()) list.push_back({{"name", resource}, {"resources", devices}});
  }
  return list;
}

}  // namespace

std::string nodeTable(Cluster& cluster) {
  const auto status = cluster.kubelet().nodeStatus();
  std::ostringstream text;
  text << "Conditions:\n  Ready:  " << (cluster.isUp() ? "True" : "Unknown") << "\n";
  for (const bool capacity : {true, false}) {
    text << (capacity ? "Capacity:\n" : "Allocatable:\n");
    for (const auto& [resource, counts] : status) {
      text << "  " << resource << ":  " << (capacity ? counts.capacity : counts.allocatable)
           << "\n";
    }
  }
  return text.str();
}

std::string nodeJson(Cluster& cluster) {
  Json capacity = Json::object();
  Json allocatable = Json::object();
  for (const auto& [resource, counts] : cluster.kubelet().nodeStatus()) {
    capacity[resource] = std::to_string(counts.capacity);
    allocatable[resource] = std::to_string(counts.allocatable);
  }
  const Json node{{"apiVersion", "v1"},
                  {"kind", "Node"},
                  {"status", {{"capacity", capacity}, {"allocatable", allocatable}}}};
  return node.dump(2) + "\n";
}

std::string podTable(Cluster& cluster, bool wide) {
  std::vector<Row> rows{{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"}};
  if (wide) rows[0].emplace_back("DEVICES");
  for (const KnownPod& pod : cluster.pods()) {
    rows.push_back(
        {pod.spec.nameSpace, pod.spec.name,
         std::to_string(readyOf(cluster, pod)) + "/" + std::to_string(pod.spec.containers.size()),
         statusText(pod), std::to_string(restartsOf(pod)), ageText(pod)});
    if (wide) rows.back().push_back(joined(devicesOf(cluster, pod.spec.uid)));
  }
  return rows.size() == 1 ? "No resources found\n" : table(rows);
}

std::string podJson(Cluster& cluster) {
  Json items = Json::array();
  for (const KnownPod& pod : cluster.pods()) {
    Json containers = Json::array();
    const auto running = cluster.running(pod);
    for (const ContainerSpec& container : pod.spec.containers) {
      const auto starts = pod.starts.find(container.name);
      containers.push_back(
          {{"name", container.name},
           {"ready", running.contains(container.name)},
           {"restartCount", starts == pod.starts.end() ? 0 : starts->second - 1},
           {"allocatedResourcesStatus", allocatedStatus(cluster, pod, container)}});
    }
    Json status{{"phase", phaseText(pod)}};
    if (!pod.reason.empty()) status["reason"] = pod.reason;
    if (!pod.message.empty()) status["message"] = pod.message;
    status["containerStatuses"] = containers;
    items.push_back(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", pod.spec.name}, {"namespace", pod.spec.nameSpace}, {"uid", pod.spec.uid}}},
         {"status", status}});
  }
  return Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump(2) + "\n";
}

std::string containerTable(Cluster& cluster) {
  std::vector<Row> rows{{"POD", "CONTAINER", "DEVICES"}};
  for (const bool gone : {false, true}) {
    for (const KnownPod& pod : gone ? cluster.deleted() : cluster.pods()) {
      for (const std::string& container : cluster.running(pod)) {
        const std::string devices = gone ? "(its pod was deleted by force)"
                                         : joined(devicesOf(cluster, pod.spec.uid, container));
        rows.push_back({pod.fullName(), container, devices});
      }
    }
  }
  return rows.size() == 1 ? "no container runs\n" : table(rows);
}

std::string deviceTable(Cluster& cluster, const std::string& resource) {
  const DeviceTable devices = cluster.kubelet().devices(resource);
  std::map<std::string, std::string> users;
  for (const CheckpointEntry& entry : cluster.kubelet().records()) {
    if (entry.resource != resource) continue;
    std::string pod = entry.podUid;
    for (const KnownPod& known : cluster.pods()) {
      if (known.spec.uid == entry.podUid) pod = known.fullName();
    }
    for (const auto& [node, ids] : entry.devices) {
      for (const std::string& id : ids) users[id] = pod + " " + entry.container;
    }
  }
  std::set<std::string> ids = devices.healthy();
  ids.insert(devices.unhealthy().begin(), devices.unhealthy().end());
  for (const auto& [id, user] : users) ids.insert(id);
  std::vector<Row> rows{{"DEVICE", "HEALTH", "NUMA", "RECORDED FOR"}};
  for (const std::string& id : ids) {
    const long node = devices.nodesOf(id).front();
    const char* health = devices.healthy().contains(id) ? "Healthy"
                         : devices.lists(id)            ? "Unhealthy"
                                                        : "not listed";
    rows.push_back(
        {id, health, node < 0 ? "-" : std::to_string(node), users.contains(id) ? users[id] : "-"});
  }
  return rows.size() == 1 ? "no device of " + resource + "\n" : table(rows);
}

}  // namespace vfiogate::sim
