#include "sim/sysfs/kernel/world.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

std::string upperHex(std::uint32_t value, int digits) {
  std::array<char, 16> text{};
  const int length = std::snprintf(text.data(), text.size(), "%0*X", digits, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string devicePath(const World& world, const Hardware& hardware) {
  std::string path = hardware.address.str();
  const Hardware* top = &hardware;
  while (top->behind) {
    path = top->behind->str() + "/" + path;
    top = &world.topology.hardware.at(*top->behind);
  }
  const std::string root = top->address.str();
  return "devices/pci" + root.substr(0, root.size() - 5) + "/" + path;
}

const Driver* findDriver(const World& world, std::string_view name) {
  const auto found = std::find_if(world.drivers.begin(), world.drivers.end(),
                                  [name](const Driver& each) { return each.spec.name == name; });
  return found == world.drivers.end() ? nullptr : &*found;
}

Driver* findDriver(World& world, std::string_view name) {
  return const_cast<Driver*>(findDriver(static_cast<const World&>(world), name));
}

Device* findDevice(World& world, std::string_view text) {
  const auto address = Bdf::parse(withoutNewline(text));
  if (!address) return nullptr;
  const auto found = world.devices.find(*address);
  return found == world.devices.end() ? nullptr : &found->second;
}

std::vector<const Device*> membersOf(const World& world, std::uint32_t group) {
  std::vector<const Device*> members;
  for (const auto& [address, device] : world.devices) {
    if (device.hardware.group == group) members.push_back(&device);
  }
  return members;
}

void enableBridgesAbove(World& world, const Device& device) {
  auto above = device.hardware.behind;
  while (above && world.devices.contains(*above)) {
    Device& bridge = world.devices.at(*above);
    if (bridge.enableCount == 0) bridge.enableCount = 1;
    above = bridge.hardware.behind;
  }
}

bool groupInUse(const World& world, std::uint32_t group) {
  const auto found = world.groups.find(group);
  return found != world.groups.end() && !found->second.holder.empty();
}

std::string groupNodeName(const World& world, std::uint32_t group) {
  const auto found = world.groups.find(group);
  const bool unsafe = found != world.groups.end() && found->second.noIommu;
  return (unsafe ? "noiommu-" : "") + std::to_string(group);
}

bool hasGroupNode(const World& world, std::uint32_t group) {
  const auto members = membersOf(world, group);
  return std::any_of(members.begin(), members.end(),
                     [](const Device* device) { return device->vfioMember; }) ||
         std::any_of(world.mediated.begin(), world.mediated.end(),
                     [group](const auto& entry) { return entry.second.group == group; });
}

std::string_view withoutNewline(std::string_view text) {
  return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
}

std::vector<std::pair<std::string, std::string>> pciKeys(const Device& device) {
  const Hardware& hardware = device.hardware;
  std::vector<std::pair<std::string, std::string>> keys;
  if (!device.driver.empty()) keys.emplace_back("DRIVER", device.driver);
  keys.emplace_back("PCI_CLASS", upperHex(hardware.classCode, 4));
  keys.emplace_back("PCI_ID", upperHex(hardware.vendor, 4) + ":" + upperHex(hardware.device, 4));
  keys.emplace_back("PCI_SUBSYS_ID",
                    upperHex(hardware.subvendor, 4) + ":" + upperHex(hardware.subdevice, 4));
  keys.emplace_back("PCI_SLOT_NAME", hardware.address.str());
  keys.emplace_back("MODALIAS", modalias(hardware));
  return keys;
}

Uevent pciEvent(const World& world, const Device& device, std::string_view action) {
  return {std::string(action), "/" + devicePath(world, device.hardware), "pci", pciKeys(device)};
}

std::string modalias(const Hardware& hardware) {
  return "pci:v" + upperHex(hardware.vendor, 8) + "d" + upperHex(hardware.device, 8) + "sv" +
         upperHex(hardware.subvendor, 8) + "sd" + upperHex(hardware.subdevice, 8) + "bc" +
         upperHex(hardware.classCode >> 16, 2) + "sc" +
         upperHex((hardware.classCode >> 8) & 0xff, 2) + "i" +
         upperHex(hardware.classCode & 0xff, 2);
}

}  // namespace vfiogate::sim
