#include <iomanip>
#include <sstream>

#include "ipc/base/hex.h"
#include "sim/sysfs/control/control_commands.h"

namespace vfiogate::sim {
namespace {

std::string orDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

void showDevice(std::ostream& out, const World& world, const Device& device) {
  const Hardware& hardware = device.hardware;
  const std::string id = hexDigits(hardware.vendor, 4) + ":" + hexDigits(hardware.device, 4);
  const std::string group = hardware.group ? groupNodeName(world, *hardware.group) : "-";
  const std::string driver = device.releasing ? "(leaving)" : orDash(device.driver);
  out << std::left << std::setw(14) << hardware.address.str() << std::setw(11) << id << std::setw(8)
      << hexDigits(hardware.classCode, 6) << std::setw(12) << group << std::setw(6) << hardware.numa
      << std::setw(16) << driver << std::setw(8) << device.enableCount
      << orDash(device.driverOverride) << "\n";
}

}  // namespace

std::string show(const SimKernel& kernel) {
  const World& world = kernel.world();
  std::ostringstream out;
  out << "ADDRESS       ID         CLASS   GROUP       NUMA  DRIVER          ENABLE  OVERRIDE\n";
  for (const auto& [address, device] : world.devices) showDevice(out, world, device);
  for (const auto& [uuid, mediated] : world.mediated) {
    out << uuid << "  " << mediated.type << " of " << mediated.parent.str() << ", group "
        << mediated.group << "\n";
  }
  for (const auto& [address, hardware] : world.topology.hardware) {
    if (!world.slots.contains(address)) out << address.str() << "  not plugged in\n";
  }
  for (const auto& [number, group] : world.groups) {
    if (!group.holder.empty()) out << "group " << number << " is held by " << group.holder << "\n";
  }
  for (const Obstruction& each : world.obstructions) {
    const char* how = each.silent ? "does nothing: " : each.error == 0 ? "hangs: " : "fails: ";
    out << how << each.path << " " << each.text << "\n";
  }
  for (const std::string& what : kernel.waiting()) out << "waits: " << what << "\n";
  return out.str();
}

}  // namespace vfiogate::sim
