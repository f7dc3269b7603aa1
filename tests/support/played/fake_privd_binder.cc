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

void showChange(Line& line) {
  ++line.play.generation;
  line.tellDelta();
}

FakePrivd::Binding end(Line& line, IommuGroupId id, bool bind) {
  Play& play = line.play;
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
  line.deltaDue = true;
  return play.binding;
}

kj::Promise<void> untilNoWait(Line& line) {
  if (line.play.binding != FakePrivd::Binding::kWaits) return kj::READY_NOW;
  auto waiting = kj::newPromiseAndFulfiller<void>();
  line.play.waiting.push_back(kj::mv(waiting.fulfiller));
  return waiting.promise.then([&line]() { return untilNoWait(line); });
}

}  // namespace

kj::Promise<FakePrivd::Binding> changeDrivers(Line& line, IommuGroupId group, bool bind) {
  ++(bind ? line.play.binds : line.play.returns);
  const auto found = line.play.hardware.groups.find(group);
  if (found != line.play.hardware.groups.end()) {
    found->second.binding.busy = true;
    showChange(line);
  }
  return untilNoWait(line).then([&line, group, bind]() { return end(line, group, bind); });
}

void tellChange(const Line& line, FakePrivd::Binding ended, schema::BindAnswer::Builder answer) {
  answer.setGeneration(line.play.generation);
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
