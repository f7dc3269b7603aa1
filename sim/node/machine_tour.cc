#include "sim/base/process_status.h"
#include "sim/node/held_card.h"
#include "sim/node/machine_hardware.h"
#include "sim/node/node.h"
#include "sim/node/tour.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <string>

namespace vfiogate::sim {
namespace {

// The resources of what tests/machine/machine.sh gave the machine: a network card alone in its
// group, and two of another model that share one.
constexpr const char* kAlone = "vfiogate.dev/8086_10d3";
constexpr const char* kShared = "vfiogate.dev/8086_100e";
constexpr const char* kSecondSlot = "vfiogate.dev/second-slot";
constexpr uid_t kHardwareUid = 64531;  // as privd serve starts it

Seen findGroups(Node& node, bool broken) {
  const std::string address = broken ? "ffff:00:00.0" : addressOf("alone");
  const Ran shown = run({node.programs() + "/privd", "show", address});
  return {shown.status == 0, shown.output};
}

Seen seePowerless(Node& node, bool broken) {
  const pid_t pid = broken ? getpid() : node.privd().pid();
  std::string faults;
  const std::map<pid_t, uid_t> processes{{pid, 0},
                                         {test::childRunning(pid, "privd-gate"), 0},
                                         {test::childRunning(pid, "privd-hardware"), kHardwareUid}};
  for (const auto& [process, uid] : processes) {
    for (const std::string& fault : test::identityFaults(process, uid)) faults += fault + "; ";
    for (const std::string& fault : test::lockdownFaults(process)) faults += fault + "; ";
  }
  return {faults.empty(), faults.empty() ? "privd: uid 0, CapEff 0, CapBnd 0, a filter" : faults};
}

Seen seeRegistered(Node& node, bool broken) {
  if (broken) {
    node.kubelet().behave(Manner::kRefuses, "broken on purpose");
    node.kubelet().restart();
  }
  const bool seen = node.kubelet().shows(kAlone, {addressOf("alone")});
  return {seen, std::string(kAlone) + " " + frameText(node.kubelet().devices(kAlone))};
}

Seen bindLate(Node& node, bool broken) {
  if (!broken) runInLibrary("to_vfio $(address_of left); to_vfio $(address_of right)");
  const bool seen = node.kubelet().shows(kShared, {addressOf("left")});
  return {seen, std::string(kShared) + " " + frameText(node.kubelet().devices(kShared))};
}

/// The group's node as it was handed out, for the step that opens it.
using HandedOut = std::shared_ptr<std::string>;

Seen allocate(Node& node, bool broken, const HandedOut& handedOut) {
  PodSpec pod;
  pod.uid = "vm-1";
  pod.containers.push_back({.name = "compute", .limits = {{kAlone, broken ? 2U : 1U}}});
  const Admission admission = node.kubelet().admit(pod);
  if (!admission.admitted) return {false, admission.message};
  const Granted& granted = admission.granted.at(0);
  for (const auto& spec : granted.response.devices()) {
    if (spec.host_path() != "/dev/vfio/vfio") *handedOut = spec.host_path();
  }
  const std::string group = groupOf(addressOf("alone"));
  return {*handedOut == "/dev/vfio/" + group, "pod vm-1 has " + grantText(granted)};
}

Seen openDevice(bool broken, const HandedOut& handedOut) {
  const std::string address = addressOf("alone");
  const std::string given = idsOf("alone");  // by machine.sh
  std::string group = handedOut->substr(handedOut->rfind('/') + 1);
  if (broken) group = std::to_string(std::stoi(group) + 1);
  const std::string before = enableOf(address);
  // A uid 0 without capabilities, as a pod's.
  const Ran opened = run({"/bin/without_capabilities", "/bin/vfio_open", group, address, given,
                          "/bin/cat", "/sys/bus/pci/devices/" + address + "/enable"});
  const std::string meanwhile = firstLine(opened.output);
  const std::string after = enableOf(address);
  const bool right = opened.status == 0 && before == "0" && meanwhile == "1" && after == "0";
  const std::string ids = opened.status == 0 ? given + " as the machine was given" : "not read";
  return {right, "/dev/vfio/" + group + " opened, ids of " + address +
                     " in its VFIO configuration region: " + ids + "; enable " + before + ", " +
                     meanwhile + ", " + after};
}

SharedGroup sharedCards() {
  return {kShared, addressOf("left"), kSecondSlot, addressOf("right")};
}

/// A process that has group and device open, as the pod's virtual machine would.
CardUser realUser() {
  const auto held = std::make_shared<std::unique_ptr<HeldCard>>();
  return {[held](Node& node, const std::string& address) {
            const std::string group = groupOf(address);
            const std::string ids = idsOf("left");
            *held = std::make_unique<HeldCard>(node.places().directory, group, address, ids);
            const bool open = (*held)->isOpen() && enableOf(address) != "0";
            return open ? "" : "not opened: " + (*held)->output();
          },
          [held](Node&) {
            const int status = (*held)->close();
            return status == 0 ? "" : "vfio_open ended with " + std::to_string(status);
          }};
}

}  // namespace

std::vector<TourStep> machineTour() {
  const auto handedOut = std::make_shared<std::string>();
  std::vector<TourStep> steps{
      {"groups", "privd sees a card in its group", findGroups},
      {"powerless", "privd runs as root without any capability", seePowerless},
      {"registered", "plugind registers a resource, the kubelet gets its first frame",
       seeRegistered},
      {"bound-late", "two cards of one group are bound to vfio-pci: a resource starts", bindLate},
      {"allocated", "a pod asks for the card alone in its group and gets the group's nodes",
       [handedOut](Node& node, bool broken) { return allocate(node, broken, handedOut); }},
      {"opened", "the handed-out group is opened, ids are read through VFIO",
       [handedOut](Node&, bool broken) { return openDevice(broken, handedOut); }}};
  for (TourStep& step : allocationSteps(sharedCards, realUser())) steps.push_back(step);
  return steps;
}

}  // namespace vfiogate::sim
