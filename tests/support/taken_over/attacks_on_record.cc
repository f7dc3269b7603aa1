// Requests of a taken-over plugind that fill the record of allocations.

#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/made_up.h"

#include <kj/debug.h>

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr gate::List kList{gate::List::What::kAllocations, ""};

std::vector<UnitId> functions(unsigned count, unsigned first) {
  std::vector<UnitId> members;
  for (unsigned i = first; i < first + count; ++i) members.push_back(madeUp(i));
  return members;
}

std::vector<UnitId> mediated(unsigned count, unsigned first) {
  std::vector<UnitId> members;
  for (unsigned i = first; i < first + count; ++i) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "00000000-0000-0000-0000-%012x", i);
    members.push_back(*UnitId::parse(text.data()));
  }
  return members;
}

/// Of what is left of the group the gate has one, and not one for each member.
std::string allocatesTheLargestGroupAndAPartOfIt(Captive& captive) {
  const auto members = functions(803, 0);
  GateSpeaker gate(captive);
  Tally tally;
  tally.add(gate.ask(gate::Allocate{members, "x"}));
  tally.add(gate.ask(gate::Allocate{{members.front()}, "y"}));
  tally.add(gate.ask(kList));
  return tally.str();
}

/// Each takes the device out of the group before it.
std::string allocatesGroupsThatBeginWithOneDevice(Captive& captive) {
  const std::string note(gate::kLongestNote, 'x');
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 1; i < 10; ++i) {
    tally.add(gate.ask(gate::Allocate{{madeUp(0), madeUp(i)}, note}));
  }
  return tally.str();
}

/// Beside as many others as there may be, whose files come before those of free devices.
std::string makesRoomForALargeGroup(Captive& captive) {
  constexpr unsigned kGroup = 300;  // a page each, as the others
  constexpr unsigned kOthers = 4096 - kGroup;
  GateSpeaker gate(captive);
  for (unsigned i = 0; i < kOthers; ++i) {
    KJ_REQUIRE(gate.ask(gate::Allocate{{madeUp(i)}, "x"}) == "done");
  }
  unsigned first = kOthers;
  return flood([&]() {
    const auto members = functions(kGroup, first);
    first = first == kOthers ? kOthers + kGroup : kOthers;
    const std::string allocated = gate.ask(gate::Allocate{members, "x"});
    gate.ask(gate::Release{members});
    return allocated;
  });
}

/// Whose names are longer than addresses.
std::string allocatesGroupsOfMediatedDevices(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  unsigned first = 0;
  for (const auto& [groups, members] : {std::pair(8U, 218U), std::pair(20U, 108U)}) {
    for (unsigned i = 0; i < groups; ++i, first += members) {
      tally.add(gate.ask(gate::Allocate{mediated(members, first), "x"}));
    }
  }
  return tally.str();
}

constexpr std::array kAttacks{
    WireAttack{"AllocatesTheLargestGroupAndAPartOfIt", allocatesTheLargestGroupAndAPartOfIt},
    WireAttack{"AllocatesGroupsThatBeginWithOneDevice", allocatesGroupsThatBeginWithOneDevice},
    WireAttack{"MakesRoomForALargeGroup", makesRoomForALargeGroup},
    WireAttack{"AllocatesGroupsOfMediatedDevices", allocatesGroupsOfMediatedDevices},
};

}  // namespace

std::span<const WireAttack> attacksOnRecord() {
  return kAttacks;
}

}  // namespace vfiogate::test
