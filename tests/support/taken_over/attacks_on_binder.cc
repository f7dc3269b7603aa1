#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/binder_speaker.h"
#include "tests/support/taken_over/flood.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/made_up.h"

#include <kj/debug.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace vfiogate::test {
namespace {

using Members = std::vector<Bdf>;

Members membersOf(const std::vector<const char*>& addresses) {
  Members members;
  for (const char* address : addresses) members.push_back(*Bdf::parse(address));
  return members;
}

/// Each all of a group.
std::vector<Members> groups() {
  return {membersOf({"0000:01:00.0"}), membersOf({"0000:02:00.0"}), membersOf({"0000:03:00.0"}),
          membersOf({"0000:04:00.0"}), membersOf({"0000:05:00.0", "0000:05:00.1"})};
}

void allocate(GateSpeaker& gate, const Members& members) {
  KJ_REQUIRE(gate.ask(gate::Allocate{{members.begin(), members.end()},
                                     "resource=vfiogate.dev/nobody"}) == "done");
}

std::string bindsWhatIsNotOnRecord(Captive& captive) {
  BinderSpeaker binder(captive);
  Tally tally;
  for (const Members& members : groups()) tally.add(binder.bind(members));
  return tally.str();
}

/// The record is the gate's, and takes its word for it: what is left is the policy.
std::string bindsWhatItAllocated(Captive& captive) {
  GateSpeaker gate(captive);
  BinderSpeaker binder(captive);
  Tally tally;
  for (const Members& members : groups()) {
    allocate(gate, members);
    tally.add(binder.bind(members));
  }
  return tally.str();
}

std::string bindsWhatIsNoGroup(Captive& captive) {
  GateSpeaker gate(captive);
  BinderSpeaker binder(captive);
  Tally tally;
  for (const Members& members :
       {membersOf({"0000:05:00.0"}), membersOf({"0000:01:00.0", "0000:02:00.0"}),
        membersOf({"0000:03:00.0", "0000:05:00.0", "0000:05:00.1"}), Members{madeUp(0)},
        membersOf({"0000:00:00.0"})}) {
    allocate(gate, members);
    tally.add(binder.bind(members));
    tally.add(binder.giveBack(members));
    KJ_REQUIRE(gate.ask(gate::Release{{members.begin(), members.end()}}) == "done");
  }
  return tally.str();
}

std::string givesBackWhatWasNotBoundForIt(Captive& captive) {
  BinderSpeaker binder(captive);
  Tally tally;
  for (const Members& members : groups()) tally.add(binder.giveBack(members));
  return tally.str();
}

std::string ordersOfAllKinds(Captive& captive) {
  BinderSpeaker binder(captive);
  Tally tally;
  for (const Members& members : groups()) {
    tally.add(binder.bind(members));
    tally.add(binder.giveBack(members));
  }
  return (binder.told.mayBind ? "may bind, " : "may not bind, ") + tally.str();
}

std::string bindsWithoutARecordWithoutEnd(Captive& captive) {
  BinderSpeaker binder(captive);
  return flood([&]() { return binder.bind(membersOf({"0000:03:00.0"})); });
}

std::string bindsAgainstThePolicyWithoutEnd(Captive& captive) {
  GateSpeaker gate(captive);
  BinderSpeaker binder(captive);
  allocate(gate, membersOf({"0000:03:00.0"}));
  return flood([&]() { return binder.bind(membersOf({"0000:03:00.0"})); });
}

std::string givesBackWithoutEnd(Captive& captive) {
  BinderSpeaker binder(captive);
  return flood([&]() { return binder.giveBack(membersOf({"0000:02:00.0"})); });
}

std::string bindsMadeUpDevicesWithoutEnd(Captive& captive) {
  BinderSpeaker binder(captive);
  unsigned number = 0;
  return flood([&]() { return binder.bind({madeUp(number++ % 65'536)}); });
}

/// Without waiting for answers: where it may not bind, none is in flight for long. It is hung up on
/// when the binder has news, for which answers wait.
std::string asksInARowWithoutEnd(Captive& captive) {
  constexpr std::uint32_t kOfOneChannel = 10'000;
  return flood([&]() {
    BinderSpeaker binder(captive);
    std::string heard;
    for (std::uint32_t number = 1; number < kOfOneChannel && heard != "hung up"; ++number) {
      binder.sendBind(number, membersOf({"0000:01:00.0"}));
      while ((heard = binder.next()) == "an answer" || heard == "news") {
        if (heard == "news") binder.send(encode(binder::Request(binder::Seen{})));
      }
    }
    return binder.answer;
  });
}

/// As many as one may name.
std::string bindsAsManyDevicesAsItMay(Captive& captive) {
  Members members;
  for (unsigned i = 0; i < binder::kMostMembers; ++i) members.push_back(madeUp(i));
  BinderSpeaker binder(captive);
  return flood([&]() { return binder.giveBack(members); });
}

/// Of what it was shown, of what it was not, and of none.
std::string probesWhatItLikes(Captive& captive) {
  BinderSpeaker binder(captive);
  Tally tally;
  for (const std::uint32_t group : {7U, 8U, 10U, 9U, 4711U, binder::kMostGroups - 1}) {
    tally.add(binder.probe(group));
  }
  return tally.str();
}

/// What another process would be kept out of: of one group over and over, through channel after
/// channel.
std::string probesOneGroupWithoutEnd(Captive& captive) {
  unsigned probes = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) {
    BinderSpeaker binder(captive);
    if (binder.probe(7) != "idle") return "something else";
    ++probes;
  }
  return probes <= 5 ? "at most 5 in 3 s" : std::to_string(probes);
}

std::string probesMadeUpGroupsWithoutEnd(Captive& captive) {
  BinderSpeaker binder(captive);
  std::uint32_t group = 1'000;
  return flood([&]() { return binder.probe(++group % binder::kMostGroups); });
}

/// Of what is there and of what is not.
std::string readsSerialsOfWhatItLikes(Captive& captive) {
  BinderSpeaker binder(captive);
  Tally tally;
  for (const char* card : {"0000:01:00.0", "0000:03:00.0", "0000:77:00.0"}) {
    tally.add(binder.serialOf(*Bdf::parse(card)));
  }
  return tally.str();
}

std::string readsMadeUpSerialsWithoutEnd(Captive& captive) {
  BinderSpeaker binder(captive);
  unsigned number = 0;
  return flood([&]() { return binder.serialOf(madeUp(number++ % 65'536)); });
}

constexpr std::array kAttacks{
    WireAttack{"BindsWhatIsNotOnRecord", bindsWhatIsNotOnRecord},
    WireAttack{"BindsWhatItAllocated", bindsWhatItAllocated},
    WireAttack{"BindsWhatIsNoGroup", bindsWhatIsNoGroup},
    WireAttack{"GivesBackWhatWasNotBoundForIt", givesBackWhatWasNotBoundForIt},
    WireAttack{"OrdersOfAllKinds", ordersOfAllKinds},
    WireAttack{"BindsWithoutARecordWithoutEnd", bindsWithoutARecordWithoutEnd},
    WireAttack{"BindsAgainstThePolicyWithoutEnd", bindsAgainstThePolicyWithoutEnd},
    WireAttack{"GivesBackWithoutEnd", givesBackWithoutEnd},
    WireAttack{"BindsMadeUpDevicesWithoutEnd", bindsMadeUpDevicesWithoutEnd},
    WireAttack{"AsksInARowWithoutEnd", asksInARowWithoutEnd},
    WireAttack{"BindsAsManyDevicesAsItMay", bindsAsManyDevicesAsItMay},
    WireAttack{"ProbesWhatItLikes", probesWhatItLikes},
    WireAttack{"ProbesOneGroupWithoutEnd", probesOneGroupWithoutEnd},
    WireAttack{"ProbesMadeUpGroupsWithoutEnd", probesMadeUpGroupsWithoutEnd},
    WireAttack{"ReadsSerialsOfWhatItLikes", readsSerialsOfWhatItLikes},
    WireAttack{"ReadsMadeUpSerialsWithoutEnd", readsMadeUpSerialsWithoutEnd},
};

}  // namespace

std::span<const WireAttack> attacksOnBinder() {
  return kAttacks;
}

}  // namespace vfiogate::test
