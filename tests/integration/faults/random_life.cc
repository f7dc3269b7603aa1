// The steps of a random life.

#include "tests/integration/faults/random_life.h"

#include <algorithm>
#include <iterator>

namespace vfiogate::test {
namespace {

const std::string kGpu = "vfiogate.dev/gpu";
const std::string kOther = "vfiogate.dev/other";
constexpr std::size_t kMostPods = 6;

constexpr const char* kConfig =
    "resources:\n"
    "  - {name: vfiogate.dev/gpu, select: {device: \"2684\"}}\n"
    "  - {name: vfiogate.dev/other, select: {device: \"2685\"}}\n"
    "  - {name: vfiogate.dev/pair, overlap: exclude, more: {name: vfiogate.dev/pair_more}, sets: [";

std::string configText() {
  std::string text = kConfig;
  for (const auto& [id, devices] : kSets) {
    text += "{name: " + id.substr(4) + ", devices: [\"" + *devices.begin() + "\", \"" +
            *devices.rbegin() + "\"]}, ";
  }
  return text + "]}\nallocateWait: 1s\n";
}

/// One of its devices, or a set with a ticket: what a container asks for.
std::map<std::string, std::size_t> limitsOf(unsigned pick) {
  if (pick % 3 == 2) return {{kPair, 1}, {kPairMore, 1}};
  return {{pick % 3 == 0 ? kGpu : kOther, 1 + pick / 3 % 5 / 4}};
}

}  // namespace

RandomLife::RandomLife() {
  const auto add = [this](const std::string& address, std::uint16_t device, unsigned group) {
    Device fresh;
    // One node each, so that a pod can be sent to a device.
    const int node = static_cast<int>(devices_.size());
    fresh.made = {.address = address, .device = device, .group = group, .numaNode = node};
    fresh.resource = device == 0x2684 ? kGpu : kOther;
    node_.hardware.add(fresh.made);
    devices_.emplace(address, fresh);
  };
  // Two functions a group, each in a resource of its own: both are Healthy only where it is free.
  for (unsigned i = 1; i <= 6; ++i) {
    const std::string slot = "0000:0" + std::to_string(i) + ":00.";
    add(slot + "0", 0x2684, 6 + i);
    add(slot + "1", 0x2685, 6 + i);
  }
  node_.kubelet.start();
  if (!node_.startPlugind(configText()) || !startPrivd()) fail("it does not start");
  check();
}

// A lost checkpoint is not among them: what it leaves is let go after ten minutes.
const std::vector<RandomLife::NamedAct>& RandomLife::actList() {
  static const std::vector<NamedAct> list{
      {"admit", 290, &RandomLife::admit},
      {"start container", 40, &RandomLife::startContainer},
      {"open", 60, &RandomLife::open},
      {"close", 70, &RandomLife::close},
      {"end", 130, &RandomLife::end},
      {"force delete", 90, &RandomLife::forceDelete},
      {"stranger opens", 25, &RandomLife::openAsStranger},
      {"stranger closes", 35, &RandomLife::closeAsStranger},
      {"rebind", 35, &RandomLife::rebind},
      {"replug", 25, &RandomLife::replug},
      {"restart kubelet", 20, &RandomLife::restartKubelet},
      {"kubelet dies in Allocate", 10, &RandomLife::killKubeletInAllocate},
      {"kill plugind", 8, &RandomLife::killPlugind},
      {"kill privd", 3, &RandomLife::killPrivd},
      {"kill one of privd's roles", 6, &RandomLife::killRole},
      {"start what was killed", 150, &RandomLife::startPrograms}};
  return list;
}

int RandomLife::acts() {
  int sum = 0;
  for (const NamedAct& act : actList()) sum += act.weight;
  return sum;
}

const RandomLife::NamedAct& RandomLife::actOf(const Step& step) {
  int left = step.act;
  for (const NamedAct& act : actList()) {
    left -= act.weight;
    if (left < 0) return act;
  }
  return actList().back();
}

std::string RandomLife::describe(const Step& step) {
  return std::string(actOf(step).name) + " (" + std::to_string(step.pick) + ")";
}

std::string RandomLife::take(const Step& step) {
  (this->*actOf(step).act)(step.pick);
  check();
  return failure_;
}

std::map<std::string, RandomLife::Pod>::iterator RandomLife::podAt(unsigned pick) {
  if (pods_.empty()) return pods_.end();
  return std::next(pods_.begin(), static_cast<std::ptrdiff_t>(pick % pods_.size()));
}

std::string RandomLife::deviceAt(unsigned pick) const {
  return std::next(devices_.begin(), static_cast<std::ptrdiff_t>(pick % devices_.size()))->first;
}

bool RandomLife::isOpen(const std::string& id) const {
  return devices_.at(id).strange || std::ranges::any_of(pods_, [&id](const auto& entry) {
           return entry.second.open && entry.second.ids.contains(id);
         });
}

void RandomLife::setOpen(Pod& pod, bool open) {
  pod.open = open;
  for (const std::string& id : pod.ids) {
    if (devices_.at(id).present) node_.hardware.setEnable(id, open ? 1 : 0);
  }
}

void RandomLife::admit(unsigned pick) {
  if (pods_.size() >= kMostPods) return;
  const std::string uid = "p" + std::to_string(++lastPod_);
  const auto limits = limitsOf(pick);
  const bool ofSet = limits.contains(kPair);
  sim::PodSpec pod = podOf(uid, kPair);
  pod.containers[0].limits = limits;
  if (pick / 15 % 4 == 0) {
    pod.initContainers = {{"init", limits}};
    if (!ofSet) pod.initContainers[0].limits.begin()->second = 1;
  }
  if (!ofSet) {
    pod.containers[0].alignTo = std::set<long>{static_cast<long>(pick / 64 % devices_.size())};
  }
  const bool away = !node_.privd;
  const auto admission = node_.kubelet.admit(pod);
  if (admission.kubeletDied) {
    node_.kubelet.start();
    node_.kubelet.end(uid);
    settled_ = false;
    return;
  }
  const bool devices = std::ranges::any_of(
      admission.granted, [](const auto& granted) { return granted.resource != kPairMore; });
  if (away && devices) fail("I3: " + uid + " was granted without privd");
  if (!admission.admitted) return;
  Pod& fresh = pods_[uid];
  for (const auto& granted : admission.granted) note(granted, fresh);
  ++grants_;
}

void RandomLife::note(const sim::Granted& granted, Pod& pod) {
  for (const std::string& id : granted.ids) {
    if (granted.resource == kPairMore) {
      pod.tickets.insert(id);
      const bool nothing = granted.response.ByteSizeLong() == 0;
      if (!nothing) fail("more: " + id + " was answered with something");
      continue;
    }
    const auto set = kSets.find(id);
    if (set == kSets.end()) {
      pod.ids.insert(id);
      continue;
    }
    pod.sets.insert(id);
    pod.ids.insert(set->second.begin(), set->second.end());
    const auto& variables = granted.response.envs();
    const auto first = variables.find("PCI_RESOURCE_VFIOGATE_DEV_PAIR");
    const auto other = variables.find("PCI_RESOURCE_VFIOGATE_DEV_PAIR_MORE");
    const bool named = first != variables.end() && first->second == *set->second.begin() &&
                       other != variables.end() && other->second == *set->second.rbegin();
    if (!named) fail("more: the answer of " + id + " does not name its devices apart");
  }
}

void RandomLife::startContainer(unsigned pick) {
  const auto found = podAt(pick);
  // Without privd it would wait 20 s.
  if (found == pods_.end() || !found->second.active || found->second.started || !allUp()) return;
  found->second.started = node_.kubelet.startContainer(found->first, "compute").started;
  // Most open their devices at once: one that does not keeps everybody away for 10 s.
  if (pick / 64 % 8 != 0) open(pick);
}

void RandomLife::open(unsigned pick) {
  const auto found = podAt(pick);
  if (found == pods_.end() || !found->second.active || !found->second.started) return;
  const bool possible = std::ranges::all_of(found->second.ids, [this](const std::string& id) {
    return devices_.at(id).present && devices_.at(id).bound;
  });
  if (possible) setOpen(found->second, true);
}

/// Its container ends.
void RandomLife::close(unsigned pick) {
  const auto found = podAt(pick);
  if (found == pods_.end()) return;
  node_.kubelet.stopContainer(found->first, "compute");
  setOpen(found->second, false);
  found->second.started = false;
  if (!found->second.active) pods_.erase(found);
}

void RandomLife::end(unsigned pick) {
  const auto found = podAt(pick);
  if (found == pods_.end()) return;
  setOpen(found->second, false);
  node_.kubelet.end(found->first);
  pods_.erase(found);
}

/// One that has not opened its devices by now never will: what ledger.md 15 cannot close is not
/// asked for.
void RandomLife::forceDelete(unsigned pick) {
  const auto found = podAt(pick);
  if (found == pods_.end() || !found->second.active) return;
  node_.kubelet.forceDelete(found->first);
  found->second.active = false;
  if (!found->second.open) close(pick);
}

void RandomLife::openAsStranger(unsigned pick) {
  const std::string id = deviceAt(pick);
  Device& device = devices_.at(id);
  if (!device.present || !device.bound || !parties(*device.made.group).empty()) return;
  device.strange = true;
  node_.hardware.setEnable(id, 1);
}

void RandomLife::closeAsStranger(unsigned /*pick*/) {
  for (auto& [id, device] : devices_) {
    if (device.strange) node_.hardware.setEnable(id, 0);
    device.strange = false;
  }
}

/// The kernel lets nobody take a device from its driver while it is open.
void RandomLife::rebind(unsigned pick) {
  const std::string id = deviceAt(pick);
  Device& device = devices_.at(id);
  if (!device.present || isOpen(id)) return;
  device.bound = !device.bound;
  node_.hardware.setDriver(id, device.bound ? "vfio-pci" : "nouveau");
}

void RandomLife::replug(unsigned pick) {
  const std::string id = deviceAt(pick);
  Device& device = devices_.at(id);
  const bool another = std::ranges::any_of(
      devices_, [](const auto& entry) { return !entry.second.present; });  // one at a time
  if (isOpen(id) || (device.present && another)) return;
  if (device.present) {
    node_.hardware.remove(id);
  } else {
    node_.hardware.add(device.made);
  }
  device.present = !device.present;
  device.bound = device.touched = true;
}

void RandomLife::restartKubelet(unsigned /*pick*/) {
  node_.kubelet.restart();
  settled_ = false;
}

void RandomLife::killKubeletInAllocate(unsigned pick) {
  node_.kubelet.dieInAllocate();
  admit(pick);
}

void RandomLife::killPlugind(unsigned /*pick*/) {
  settled_ = false;
  node_.killPlugind();
}

void RandomLife::killPrivd(unsigned /*pick*/) {
  node_.killPrivd();
}

/// The others end with it.
void RandomLife::killRole(unsigned pick) {
  if (node_.privd) node_.killWithRole(SplitNode::kRoles.at(pick % SplitNode::kRoles.size()));
}

/// With a binder, which has nothing to bind here.
bool RandomLife::startPrivd() {
  return node_.startPrivd({"--plugind-rights", "watch,kubelet,bind"});
}

void RandomLife::startPrograms(unsigned /*pick*/) {
  if (!node_.plugind && !node_.startPlugind(configText())) fail("plugind does not start");
  if (!node_.privd && !startPrivd()) fail("privd does not start");
}

}  // namespace vfiogate::test
