#include "tests/support/played/fake_privd_binder.h"

#include <algorithm>

namespace vfiogate::test {
namespace {

/// Above the numbers of devices that were on VFIO from the beginning.
constexpr std::uint32_t kFirstVfioDev = 1000;

void bindMembers(Play& play, const IommuGroup& group) {
  for (const Bdf& member : group.members) {
    PciDevice& device = play.hardware.devices.at(member);
    if (!isEndpoint(device) || offersVfio(device)) continue;
    play.formerDrivers[member] = device.driver;
    device.driver = "vfio-pci";
    device.vfioDev = kFirstVfioDev + static_cast<std::uint32_t>(play.formerDrivers.size());
    device.cdevNode = true;
  }
}

void giveMembersBack(Play& play, const IommuGroup& group) {
  for (const Bdf& member : group.members) {
    const auto former = play.formerDrivers.find(member);
    if (former == play.formerDrivers.end()) continue;
    PciDevice& device = play.hardware.devices.at(member);
    device.driver = former->second;
    device.vfioDev.reset();
    device.cdevNode = false;
    play.formerDrivers.erase(former);
  }
}

void showChange(PeerConnection& peer) {
  ++peer.play.generation;
  peer.tellDelta();
}

FakePrivd::Binding end(PeerConnection& peer, IommuGroupId id, bool bind) {
  Play& play = peer.play;
  const auto found = play.hardware.groups.find(id);
  if (found == play.hardware.groups.end()) return FakePrivd::Binding::kFails;
  IommuGroup& group = found->second;
  group.binding.busy = false;
  group.binding.stuck = play.binding == FakePrivd::Binding::kStuck;
  if (play.binding == FakePrivd::Binding::kSucceeds) {
    if (bind) {
      bindMembers(play, group);
    } else {
      giveMembersBack(play, group);
    }
    group.binding.bindable = !bind;
    group.binding.boundForAllocation = bind;
    group.groupNode = bind;
  }
  // After the answer, as it may come: whoever trusts the answer alone sees what was before.
  ++play.generation;
  peer.deltaDue = true;
  return play.binding;
}

kj::Promise<void> untilNoWait(PeerConnection& peer) {
  if (peer.play.binding != FakePrivd::Binding::kWaits) return kj::READY_NOW;
  auto waiting = kj::newPromiseAndFulfiller<void>();
  peer.play.waiting.push_back(kj::mv(waiting.fulfiller));
  return waiting.promise.then([&peer]() { return untilNoWait(peer); });
}

}  // namespace

kj::Promise<FakePrivd::Binding> changeDrivers(PeerConnection& peer, IommuGroupId group, bool bind) {
  ++(bind ? peer.play.binds : peer.play.returns);
  const auto found = peer.play.hardware.groups.find(group);
  if (found != peer.play.hardware.groups.end()) {
    found->second.binding.busy = true;
    showChange(peer);
  }
  return untilNoWait(peer).then([&peer, group, bind]() { return end(peer, group, bind); });
}

void tellChange(const PeerConnection& peer, FakePrivd::Binding ended,
                schema::BindAnswer::Builder answer) {
  answer.setGeneration(peer.play.generation);
  switch (ended) {
    case FakePrivd::Binding::kSucceeds:
    case FakePrivd::Binding::kWaits:
      return answer.setDone();
    case FakePrivd::Binding::kRefused:
      return answer.setRefused("nvme0n1 is mounted at /srv");
    case FakePrivd::Binding::kFails:
      return answer.setFailed("bind: EBUSY");
    case FakePrivd::Binding::kStuck:
      return answer.setStuck("unbind has not come back");
  }
}

}  // namespace vfiogate::test
