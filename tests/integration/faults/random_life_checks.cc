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
  for (const char* resource : {"vfiogate.dev/gpu", "vfiogate.dev/other"}) {
    const bool opened = node_.plugind->saysAll({"event=stream_opened", resource}) &&
                        node_.kubelet.awaitFrames(resource, 1);
    if (!opened) fail(std::string("live: no stream of ") + resource + " after a restart");
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

/// I4: what an active pod holds is Healthy. I5: what shares its group is not.
void RandomLife::checkHealth() {
  for (const auto& [uid, pod] : pods_) {
    if (!pod.active) continue;
    for (const std::string& id : pod.ids) {
      Device& device = devices_.at(id);
      if (!device.present) continue;
      const auto healthy = [&id](const auto& shown) { return shown.healthy().contains(id); };
      // Nothing that is held flaps. After a restart a first frame is on its way, what was unplugged
      // is Healthy again when privd has seen it, and a frame of before the pod was admitted, when
      // its group was asked for in vain, may come late on a busy machine.
      if (device.touched && !allUp()) continue;
      const auto held = std::chrono::steady_clock::now() - pod.admitted;
      const bool good = device.touched || !settled_ || held < std::chrono::seconds(2)
                            ? node_.kubelet.await(device.resource, healthy)
                            : healthy(node_.kubelet.devices(device.resource));
      if (!good) fail("I4: " + id + " of " + uid + " is not Healthy");
      device.touched = false;
      for (const auto& [other, sibling] : devices_) {
        if (sibling.made.group != device.made.group || pod.ids.contains(other)) continue;
        const auto withdrawn = [&member = other](const auto& shown) {
          return !shown.healthy().contains(member);
        };
        if (!node_.kubelet.await(sibling.resource, withdrawn)) {
          fail("I5: " + other + " is Healthy beside " + id + " of " + uid);
        }
      }
      if (!failure_.empty()) return;
    }
  }
}

/// The kubelet restarted just when its pod ended: let go only after ten minutes (ledger.md 4).
bool RandomLife::forgotten(const std::string& id) {
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
