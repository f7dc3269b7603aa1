#include <algorithm>
#include <set>

#include "ipc/base/kube_names.h"
#include "sim/sysfs/topology/topology_file.h"

namespace vfiogate::sim {
namespace {

const DriverSpec* driverNamed(const Topology& topology, const std::string& name) {
  const auto found = std::find_if(topology.drivers.begin(), topology.drivers.end(),
                                  [&name](const DriverSpec& each) { return each.name == name; });
  return found == topology.drivers.end() ? nullptr : &*found;
}

std::string bridgeProblem(const Topology& topology, const Hardware& hardware) {
  const auto found = topology.hardware.find(*hardware.behind);
  const std::string name = hardware.behind->str();
  if (found == topology.hardware.end()) return "behind: " + name + " is no device of this file";
  const Hardware& bridge = found->second;
  if (!bridge.bridge) return "behind: " + name + " is no bridge: give it bridge: true";
  if (hardware.address.segment() != bridge.address.segment()) {
    return "behind: " + name + " is in another segment";
  }
  if (hardware.address.bus() <= bridge.address.bus()) {
    return "behind: what is behind " + name + " must have a higher bus number than the bridge";
  }
  if (hardware.present && !bridge.present) {
    return "behind: " + name + " is not present, so this cannot be: give it present: false";
  }
  return "";
}

/// What hangs on one bus hangs behind one bridge, or on the root.
std::string busProblem(const Topology& topology, const Hardware& hardware) {
  for (const auto& [address, other] : topology.hardware) {
    const bool sameBus =
        address.segment() == hardware.address.segment() && address.bus() == hardware.address.bus();
    if (sameBus && other.behind != hardware.behind) {
      return "the bus is shared with " + address.str() +
             ", which is elsewhere: one bus is behind one bridge";
    }
  }
  return "";
}

std::string functionProblem(const Topology& topology, const Hardware& hardware) {
  const Bdf& at = hardware.address;
  if (at.function() == 0) return "";
  const Bdf first = Bdf::make(at.segment(), at.bus(), at.device(), 0).value();
  if (topology.hardware.contains(first)) return "";
  return "function " + std::to_string(at.function()) + " without function 0, which the kernel " +
         "would never find: describe " + first.str();
}

std::string driverProblem(const Topology& topology, const Hardware& hardware) {
  if (!hardware.driver || hardware.driver->empty()) return "";
  const DriverSpec* driver = driverNamed(topology, *hardware.driver);
  if (driver == nullptr) return "driver: " + *hardware.driver + " is not among the drivers";
  if (!driver->loaded) return "driver: " + driver->name + " is not loaded at boot";
  const bool groupless = !hardware.group && topology.iommu == IommuMode::kOn;
  if (driver->kind == DriverKind::kVfio && (groupless || topology.iommu == IommuMode::kOff)) {
    return "driver: " + driver->name + " takes no device without a group";
  }
  return "";
}

std::string placeProblem(const Topology& topology, const Hardware& hardware) {
  if (hardware.group && topology.iommu != IommuMode::kOn) {
    return "group: there are none unless iommu is on";
  }
  if (hardware.numa >= topology.numaNodes) {
    return "numa: " + std::to_string(hardware.numa) + " is not below numaNodes, " +
           std::to_string(topology.numaNodes);
  }
  return "";
}

std::string virtualFunctionProblem(const Topology& topology, const Hardware& hardware) {
  if (!hardware.sriov) return "";
  if (hardware.bridge) return "sriov: a bridge has no virtual functions";
  const SriovSpec& spec = *hardware.sriov;
  const Bdf& at = hardware.address;
  const std::uint32_t self =
      (std::uint32_t{at.bus()} << 8) + (std::uint32_t{at.device()} << 3) + at.function();
  for (std::uint32_t index = 0; index < spec.total; ++index) {
    const std::uint32_t id = self + spec.offset + index * spec.stride;
    if (id > 0xffff) return "sriov: the last functions would lie beyond bus ff";
    const Bdf where =
        Bdf::make(at.segment(), static_cast<std::uint8_t>(id >> 8),
                  static_cast<std::uint8_t>((id >> 3) & 31), static_cast<std::uint8_t>(id & 7))
            .value();
    if (topology.hardware.contains(where)) {
      return "sriov: virtual function " + std::to_string(index) + " would have the address of " +
             where.str() + ", which is described too";
    }
  }
  return "";
}

std::string mediatedProblem(const Hardware& hardware, std::set<std::string>& taken) {
  for (const MediatedSpec& made : hardware.mediated) {
    const std::string what = "mdev: " + made.uuid;
    if (!isUid(made.uuid)) return what + " is no UUID in lower case";
    if (!taken.insert("mdev " + made.uuid).second) return what + " stands there twice";
    const bool known = std::ranges::find(hardware.mediatedTypes, made.type,
                                         &MediatedTypeSpec::id) != hardware.mediatedTypes.end();
    if (!known) return what + " is of type " + made.type + ", which is not among its types";
  }
  return "";
}

/// Names of disks, partitions and interfaces are the node's: no two are alike.
std::string nameProblem(const Hardware& hardware, std::set<std::string>& taken) {
  std::vector<std::string> names;
  for (const DiskSpec& disk : hardware.objects.disks) {
    names.push_back("block " + disk.whole.name);
    for (const BlockSpec& part : disk.partitions) names.push_back("block " + part.name);
  }
  for (const InterfaceSpec& face : hardware.objects.interfaces) names.push_back("net " + face.name);
  for (const std::string& name : names) {
    if (!taken.insert(name).second) return name + " stands there twice";
  }
  return "";
}

}  // namespace

void checkTopology(const Topology& topology, const DeviceLines& lines, YamlReader& reader) {
  const auto refuse = [&](const Bdf& address, const std::string& problem) {
    if (!problem.empty()) {
      reader.refuse(lines.at(address), "device " + address.str() + ": " + problem);
    }
  };
  // Bridges first: a wrong one makes other things look wrong, at the wrong device.
  for (const auto& [address, hardware] : topology.hardware) {
    if (hardware.behind) refuse(address, bridgeProblem(topology, hardware));
  }
  std::optional<Bdf> bootVga;
  std::set<std::string> names;
  for (const auto& [address, hardware] : topology.hardware) {
    refuse(address, busProblem(topology, hardware));
    refuse(address, functionProblem(topology, hardware));
    refuse(address, driverProblem(topology, hardware));
    refuse(address, placeProblem(topology, hardware));
    refuse(address, virtualFunctionProblem(topology, hardware));
    refuse(address, nameProblem(hardware, names));
    refuse(address, mediatedProblem(hardware, names));
    if (hardware.bootVga != true) continue;
    if (bootVga) refuse(address, "bootVga: " + bootVga->str() + " is that already");
    bootVga = address;
  }
}

}  // namespace vfiogate::sim
