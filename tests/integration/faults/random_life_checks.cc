// What must hold after every step of a random life, and at its end (ledger.md 16).

#include "tests/integration/faults/random_life.h"

#include "plugind/core/timing.h"

#include <algorithm>
#include <iostream>

namespace vfiogate::test {

std::set<std::string> RandomLife::parties(unsigned group) const {
  std::set<std::string> found;
  const auto isHere = [&](const std::string& id) { return devices_.at(id).made.group == group; };
  for (const auto& [uid, pod] : pods_) {
    if ((pod.active || pod.open) && std::ranges::any_of(pod.ids, isHere)) found.insert(uid);
  }
  for (const auto& [id, device] : devices_) {
    if (device.strange && isHere(id)) found.insert("a stranger");
  }
  return found;
}

void RandomLife::check() {
  const std::string crash = node_.kubelet.crash();
  if (!crash.empty()) fail("T5: " + crash);
  checkParties();
  if (!settled_ && !allUp()) return;
  if (!settled_) awaitStreams();
  checkHealth();
  settled_ = true;
}

void RandomLife::awaitStreams() {
  for (const std::string& resource :
       {std::string("vfiogate.dev/gpu"), std::string("vfiogate.dev/other"), kPair, kPairMore}) {
    const bool opened = node_.plugind->saysAll({"event=stream_opened", resource}) &&
                        node_.kubelet.awaitFrames(resource, 1);
    if (!opened) fail("live: no stream of " + resource + " after a restart");
  }
}

/// I1: at most one live party per group.
void RandomLife::checkParties() {
  for (const unsigned group : {7U, 8U, 9U, 10U, 11U, 12U}) {
    const auto live = parties(group);
    if (live.size() < 2) continue;
    fail("I1: group " + std::to_string(group) + " has " + *live.begin() + " and " + *live.rbegin());
  }
}

bool RandomLife::areHealthy(const std::string& resource, const std::set<std::string>& ids,
                            bool wait) {
  const auto healthy = [&ids](const auto& shown) {
    return std::ranges::includes(shown.healthy(), ids);
  };
  return wait ? node_.kubelet.await(resource, healthy) : healthy(node_.kubelet.devices(resource));
}

void RandomLife::expectWithdrawn(const std::string& resource, const std::string& id,
                                 const std::string& why) {
  const auto withdrawn = [&id](const auto& shown) { return !shown.healthy().contains(id); };
  if (!node_.kubelet.await(resource, withdrawn)) fail("I5: " + id + " is Healthy beside " + why);
}

/// I4: what an active pod holds is Healthy. I5: what shares its group is not.
void RandomLife::checkHealth() {
  for (auto& [uid, pod] : pods_) {
    if (!pod.active) continue;
    checkSets(uid, pod);
    checkDevices(uid, pod);
    if (!failure_.empty()) return;
  }
}

/// Of a set, too, each device is in a group of which nothing else is Healthy.
void RandomLife::checkDevices(const std::string& uid, Pod& pod) {
  for (const std::string& id : pod.ids) {
    Device& device = devices_.at(id);
    if (!device.present) continue;
    // Nothing that is held flaps. After a restart a first frame is on its way, what was unplugged
    // is Healthy again when privd has seen it, and a frame of before the pod was admitted, when
    // its group was asked for in vain, may come late on a busy machine.
    if (device.touched && !allUp()) continue;
    const bool held = pod.sets.empty();
    const auto since = std::chrono::steady_clock::now() - pod.admitted;
    const bool wait = device.touched || !settled_ || since < std::chrono::seconds(2);
    if (held && !areHealthy(device.resource, {id}, wait)) {
      fail("I4: " + id + " of " + uid + " is not Healthy");
    }
    if (held) device.touched = false;
    const std::string why = id + " of " + uid;
    for (const auto& [other, sibling] : devices_) {
      if (sibling.made.group != device.made.group || (held && pod.ids.contains(other))) continue;
      expectWithdrawn(sibling.resource, other, why);
    }
    for (const auto& [set, units] : kSets) {
      const bool here = std::ranges::any_of(units, [&](const std::string& unit) {
        return devices_.at(unit).made.group == device.made.group;
      });
      if (here && !pod.sets.contains(set)) expectWithdrawn(kPair, set, why);
    }
    if (!failure_.empty()) return;
  }
}

/// The sets and the tickets that the kubelet has recorded for it.
void RandomLife::checkSets(const std::string& uid, const Pod& pod) {
  if (pod.sets.empty()) return;
  bool touched = false;
  for (const std::string& id : pod.ids) {
    if (!devices_.at(id).present) return;
    touched = touched || devices_.at(id).touched;
  }
  if (touched && !allUp()) return;
  const auto since = std::chrono::steady_clock::now() - pod.admitted;
  const bool wait = touched || !settled_ || since < std::chrono::seconds(2);
  if (!areHealthy(kPair, pod.sets, wait)) fail("I4: a set of " + uid + " is not Healthy");
  if (!areHealthy(kPairMore, pod.tickets, wait)) fail("I4: a ticket of " + uid + " is not Healthy");
  for (const std::string& id : pod.ids) devices_.at(id).touched = false;
}

/// The kubelet restarted just when its pod ended: let go only after ten minutes (ledger.md 4).
bool RandomLife::forgotten(const std::string& id) {
  const auto set = std::ranges::find_if(
      kSets, [&id](const auto& entry) { return id.find(entry.first) != std::string::npos; });
  if (set != kSets.end()) {  // or one of its tickets
    return std::ranges::any_of(set->second,
                               [this](const std::string& unit) { return forgotten(unit); });
  }
  return std::ranges::any_of(devices_, [&](const auto& entry) {
    const bool sibling = entry.second.made.group == devices_.at(id).made.group;
    const auto told = [&](const char* event) {
      return node_.plugind->saysAll(
          {"\"event\":\"" + std::string(event) + "\"", "\"" + entry.first + "\""}, 1, {});
    };
    return sibling && (told("kubelet-forgot") || told("restored"));
  });
}

std::string RandomLife::settle() {
  startPrograms(0);
  while (!pods_.empty()) end(0);
  closeAsStranger(0);
  std::map<std::string, std::set<std::string>> all;
  for (auto& [id, device] : devices_) {
    if (!device.present)
      replug(static_cast<unsigned>(std::distance(devices_.begin(), devices_.find(id))));
    if (!device.bound) node_.hardware.setDriver(id, "vfio-pci");
    device.bound = true;
    all[device.resource].insert(id);
  }
  for (const auto& [id, devices] : kSets) {
    all[kPair].insert(id);
    all[kPairMore].insert("more:" + kPair + "/" + id + "/1");
  }
  // The kubelet protects the pod last admitted.
  node_.kubelet.admit({.uid = "last", .initContainers = {}, .containers = {{"compute", {}}}});
  using namespace timing;
  const std::chrono::seconds within = kNeverNamed + kUnlistedReconcile + 2 * kReconcileInterval +
                                      kSettling + kUseInterval + kFrameReturn;
  const auto began = std::chrono::steady_clock::now();
  for (const auto& [resource, ids] : all) {
    const auto back = [this, &expected = ids](const auto& shown) {
      return std::ranges::all_of(expected, [&](const std::string& id) {
        return shown.healthy().contains(id) || forgotten(id);
      });
    };
    while (failure_.empty() && !node_.kubelet.await(resource, back)) {  // each waits 30 s
      if (std::chrono::steady_clock::now() - began < within) continue;
      fail("live: " + resource + " does not come back");
    }
  }
  const auto took = std::chrono::steady_clock::now() - began;
  std::cout << "devices were back after "
            << std::chrono::duration_cast<std::chrono::seconds>(took).count() << " s of at most "
            << within.count() << " s\n";
  if (!failure_.empty()) return failure_ + "\n" + node_.said();
  // The next plugind has privd's record to remember the others by, and no more.
  killPlugind(0);
  startPrograms(0);
  for (const auto& [resource, ids] : all) {
    const auto whole = [this, &expected = ids](const auto& shown) {
      return std::ranges::all_of(expected, [&](const std::string& id) {
        return shown.healthy().contains(id) || forgotten(id);
      });
    };
    if (failure_.empty() && !node_.kubelet.await(resource, whole)) {
      fail("live: " + resource + " is not whole after a restart of plugind");
    }
  }
  return failure_;
}

}  // namespace vfiogate::test
