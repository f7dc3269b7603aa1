#include "sim/node/node.h"
#include "sim/node/tour.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <memory>
#include <sstream>

namespace vfiogate::sim {
namespace {

// The hardware of tests/topologies/try.yaml, named as vfiogate names it.
constexpr const char* kGpus = "vfiogate.dev/10de_2684";
constexpr const char* kNewModel = "vfiogate.dev/10de_20b0";
constexpr const char* kFirstGpu = "0000:01:00.0";
constexpr const char* kSecondGpu = "0000:02:00.0";
constexpr const char* kNewGpu = "0000:05:00.0";
constexpr const char* kNics = "vfiogate.dev/8086_100e";
constexpr const char* kSecondSlot = "vfiogate.dev/second-slot";

Seen frameOf(Node& node, const std::string& resource, const std::set<std::string>& healthy,
             const std::set<std::string>& unhealthy = {}) {
  const bool seen = node.kubelet().shows(resource, healthy, unhealthy);
  return {seen, resource + " " + frameText(node.kubelet().devices(resource))};
}

bool failed(const std::string& answer) {
  return answer.starts_with("error");
}

Seen findGroups(Node& node, bool broken) {
  std::string sysfs = node.sysfs();
  if (broken) {  // a tree without devices
    sysfs = node.places().directory + "/nothing";
    for (const char* part : {"", "/bus", "/bus/pci", "/bus/pci/devices", "/kernel"}) {
      mkdir((sysfs + part).c_str(), 0755);
    }
  }
  test::ChildProcess list(
      {node.programs() + "/privd", "list", "-o", "json", "--sysfs", sysfs, "--dev", node.dev()});
  const int status = list.wait();
  const auto said = nlohmann::json::parse(list.outputWhole(), nullptr, false);
  if (status != 0 || !said.is_object()) return {false, list.output()};
  std::ostringstream text;
  for (const auto& device : said.at("devices")) {
    if (device.at("iommuGroup").is_null() || device.at("state") == "bridge") continue;
    text << "group " << device.at("iommuGroup") << " " << device.at("address").get<std::string>()
         << " " << device.at("state").get<std::string>() << "; ";
  }
  const std::size_t groups = said.at("groups").size();
  return {groups > 0, std::to_string(groups) + " IOMMU groups: " + text.str()};
}

Seen seeRegistered(Node& node, bool broken) {
  if (broken) {
    node.kubelet().behave(Manner::kRefuses, "broken on purpose");
    node.kubelet().restart();
  }
  return frameOf(node, kGpus, {kFirstGpu}, {kSecondGpu});
}

Seen bindLate(Node& node, bool broken) {
  if (!broken) {
    const std::string answer = node.hardware(std::string("bind ") + kSecondGpu + " vfio-pci");
    if (failed(answer)) return {false, answer};
  }
  return frameOf(node, kGpus, {kFirstGpu, kSecondGpu});
}

Seen plugNewModel(Node& node, bool broken) {
  for (const std::string& command :
       {std::string("plug ") + kNewGpu, std::string("bind ") + kNewGpu + " vfio-pci"}) {
    const std::string answer = broken ? "" : node.hardware(command);
    if (failed(answer)) return {false, answer};
  }
  return frameOf(node, kNewModel, {kNewGpu});
}

Seen allocate(Node& node, bool broken) {
  // A virtual machine that nobody knows of has both cards.
  for (const char* gpu : {kFirstGpu, kSecondGpu}) {
    if (broken) node.hardware(std::string("open ") + gpu);
  }
  PodSpec pod;
  pod.uid = "vm-1";
  pod.containers.push_back({.name = "compute", .limits = {{kGpus, 1}}});
  const Admission admission = node.kubelet().admit(pod);
  if (!admission.admitted) return {false, admission.message};
  return {true, "pod vm-1 has " + grantText(admission.granted.at(0))};
}

SharedGroup sharedNics() {
  return {kNics, "0000:04:01.0", kSecondSlot, "0000:04:02.0"};
}

/// Opens and closes what it is told to, in the simulation.
CardUser simulatedUser() {
  const auto opened = std::make_shared<std::string>();
  const auto tell = [](Node& node, const std::string& command) {
    const std::string answer = node.hardware(command);
    return failed(answer) ? answer : "";
  };
  return {[opened, tell](Node& node, const std::string& address) {
            *opened = address;
            return tell(node, "open " + address);
          },
          [opened, tell](Node& node) { return tell(node, "close " + *opened); }};
}

}  // namespace

std::vector<TourStep> simulatedTour() {
  std::vector<TourStep> steps{
      {"groups", "privd finds devices and IOMMU groups", findGroups},
      {"registered", "plugind registers a resource, the kubelet gets its first frame",
       seeRegistered},
      {"bound-late", "a second card is bound to vfio-pci: a frame on the same stream", bindLate},
      {"new-model", "a model not seen before is plugged in: a resource of its own", plugNewModel},
      {"allocated", "a pod asks for a card and gets the nodes of its group", allocate}};
  for (TourStep& step : allocationSteps(sharedNics, simulatedUser())) steps.push_back(step);
  return steps;
}

}  // namespace vfiogate::sim
