#include "tests/integration/events/event_rehearsal.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <array>

namespace vfiogate::test {
namespace {

// Strangers open only what never changes its group: who shared a group with what they have open
// stays out until they close it, and then what is shown would depend on what was.
const std::set<std::string> kOpenable{"0000:01:00.0", "0000:03:00.0", "0000:21:00.0",
                                      "0000:41:00.0"};
const std::set<std::string> kOpenedWith{"0000:21:00.1"};

/// Two groups that each of these may be found in.
struct Move {
  const char* address;
  std::array<unsigned, 2> groups;
};
constexpr std::array<Move, 4> kMoves{{{"0000:02:00.0", {12, 14}},
                                      {"0000:05:00.0", {15, 115}},
                                      {"0000:22:00.2", {22, 122}},
                                      {"0000:31:01.0", {23, 123}}}};

std::string resourceOf(const sim::Hardware& hardware) {
  return "vfiogate.dev/" + hexDigits(hardware.vendor, 4) + "_" + hexDigits(hardware.device, 4);
}

sim::DriverKind kindOf(const sim::World& world, const sim::Device& device) {
  return sim::findDriver(world, device.driver)->spec.kind;
}

/// A real driver ends its virtual functions before it goes; the simulated one would leave them.
bool isLoose(const sim::Device& device) {
  return device.virtualFunctions == 0;
}

}  // namespace

EventRehearsal::EventRehearsal(const sim::Topology& topology, unsigned seed)
    : random_(seed), kernel_(topology) {}

EventAct EventRehearsal::draw() {
  for (;;) {
    // What waits for somebody to close keeps others waiting.
    const bool blocked = !quiet() && pick(2) == 0;
    const std::string command = blocked ? close() : commandAt(pick(100));
    if (!command.empty()) return take(command);
  }
}

EventAct EventRehearsal::take(const std::string& command) {
  const sim::Reply reply = sim::execute(kernel_, switches_, command);
  EventAct act{command, reply.text, !reply.failed, false};
  if (reply.task != 0) {
    const auto end = kernel_.takeEnd(reply.task);
    act.answer = end ? sim::finish(reply.command, end->error).text
                     : "ok, but it waits until nobody uses the device\n";
    act.happened = !end || end->error == 0;
  }
  kernel_.takeEnds();
  const std::size_t told = kernel_.takeEvents().size();
  uevents_ += told;
  act.tells = told > 0;
  return act;
}

std::string EventRehearsal::commandAt(unsigned dice) {
  const auto pullable = [](const auto& device) {
    return isLoose(device) && !device.physicalFunction;
  };
  if (dice < 36) return bind();
  if (dice < 46) return "unbind " + anyDevice(isLoose);
  if (dice < 60) return plug();
  if (dice < 72) return "unplug " + anyDevice(pullable);
  if (dice < 76) return "vfs 0000:3b:00.0 " + std::to_string(pick(2) == 0 ? 0 : 1 + pick(16));
  if (dice < 81) return open();
  if (dice < 88) return close();
  if (dice < 94) return silence();
  if (dice < 98) return renumber();
  if (dice < 99) return pick(2) == 0 ? "unplug 0000:30:00.0" : "plug 0000:30:00.0";
  return "load-driver virtio_vfio_pci";
}

std::string EventRehearsal::bind() {
  static const std::array<const char*, 8> kDrivers{"vfio-pci", "vfio-pci",      "vfio-pci",
                                                   "vfio-pci", "mlx5_vfio_pci", "virtio_vfio_pci",
                                                   "pci-stub", "nvidia"};
  const std::string address = anyDevice(isLoose);
  return "bind " + address + " " +
         (address == "0000:3b:00.0" ? "ice" : kDrivers.at(pick(kDrivers.size())));
}

std::string EventRehearsal::plug() {
  std::vector<std::string> missing;
  for (const auto& [address, hardware] : kernel_.world().topology.hardware) {
    if (!kernel_.world().slots.contains(address)) missing.push_back(address.str());
  }
  return missing.empty() ? "" : "plug " + missing[pick(missing.size())];
}

std::string EventRehearsal::open() {
  const std::string address = anyDevice([](const sim::Device& device) {
    return kOpenable.contains(device.hardware.address.str()) && device.opens == 0;
  });
  return address.empty() ? "" : "open " + address;
}

std::string EventRehearsal::close() {
  const std::string address = anyDevice([](const auto& device) { return device.opens > 0; });
  return address.empty() ? "" : "close " + address;
}

std::string EventRehearsal::silence() {
  const bool mute = pick(2) == 0;
  const std::string address = anyDevice([&](const sim::Device& device) {
    return device.hardware.answers == mute &&
           kernel_.world().slots.contains(device.hardware.address);
  });
  if (address.empty()) return "";
  return (mute ? "mute " : "unmute ") + address;
}

std::string EventRehearsal::renumber() {
  const Move& move = kMoves.at(pick(kMoves.size()));
  // The kernel gives numbers to devices that it meets, never to those that it knows.
  if (kernel_.world().slots.contains(*Bdf::parse(move.address))) return "";
  return std::string("renumber ") + move.address + " " +
         std::to_string(move.groups.at(pick(move.groups.size())));
}

std::string EventRehearsal::anyDevice(const std::function<bool(const sim::Device&)>& like) {
  std::vector<std::string> found;
  for (const auto& [address, device] : kernel_.world().devices) {
    if (!device.hardware.bridge && like(device)) found.push_back(address.str());
  }
  return found.empty() ? "" : found[pick(found.size())];
}

bool EventRehearsal::isHealthy(const sim::Device& device, const std::set<std::string>& held) const {
  if (!device.hardware.answers) return false;
  if (held.contains(device.hardware.address.str())) return true;
  const sim::World& world = kernel_.world();
  const auto onVfio = [&world](const sim::Device& member) {
    return !member.driver.empty() && kindOf(world, member) == sim::DriverKind::kVfio;
  };
  const auto onHost = [&world](const sim::Device& member) {
    return !member.driver.empty() && kindOf(world, member) == sim::DriverKind::kHost;
  };
  // Nothing that is held changes its group.
  const auto isIn = [&](const std::string& id) {
    return world.topology.hardware.at(*Bdf::parse(id)).group == device.hardware.group;
  };
  if (!onVfio(device) || std::ranges::any_of(held, isIn)) return false;
  return std::ranges::none_of(
      sim::membersOf(world, *device.hardware.group),
      [&](const sim::Device* member) { return onHost(*member) || member->opens > 0; });
}

ShownFrames EventRehearsal::frames(const std::set<std::string>& held) const {
  const sim::World& world = kernel_.world();
  ShownFrames frames;
  for (const std::string& id : held) {  // gone or not
    frames[resourceOf(world.topology.hardware.at(*Bdf::parse(id)))][id] = false;
  }
  for (const auto& [address, device] : world.devices) {
    if (device.hardware.bridge) continue;
    frames[resourceOf(device.hardware)][address.str()] = isHealthy(device, held);
  }
  return frames;
}

bool EventRehearsal::strangersOpen(const std::string& id) {
  return kOpenable.contains(id) || kOpenedWith.contains(id);
}

}  // namespace vfiogate::test
