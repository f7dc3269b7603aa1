// `more`: the further devices of a set or a whole group, for consumers with an entry for each: the
// answer names them under a resource of their own, which counts tickets.

#include <gmock/gmock.h>

#include "plugind/core/resource/more_tickets.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::array<const char*, 6> kGpu{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                          "0000:04:00.0", "0000:05:00.0", "0000:06:00.0"};
constexpr const char* kLeft = "set:left";
constexpr const char* kMiddle = "set:middle";
constexpr const char* kRight = "set:right";

std::string ticket(const std::string& id, std::size_t number) {
  return moreTicketId({test::resource("trio"), id, number});
}

/// Frames in a short form: what is Healthy of each set, and how many tickets are.
class MoreOfSets : public testing::Test {
protected:
  /// Six GPUs in groups 31 to 36, in sets of three: left and right share nothing, middle shares a
  /// device with each.
  MoreOfSets() {
    for (std::uint32_t i = 0; i < kGpu.size(); ++i) node.hardware.add(kGpu[i], 31 + i);
    ResourceSettings entry;
    entry.name = test::resource("trio");
    entry.sets = {{"left", {at(kGpu[0]), at(kGpu[1]), at(kGpu[2])}},
                  {"middle", {at(kGpu[2]), at(kGpu[3]), at(kGpu[1])}},
                  {"right", {at(kGpu[3]), at(kGpu[4]), at(kGpu[5])}}};
    entry.setsOverlap = true;
    entry.allocation.more = MoreDevices{test::resource("trio_more"), 2};
    node.settings.resources.push_back(std::move(entry));
  }

  std::size_t healthyTickets() const {
    const std::string frame = node.frame("trio_more");
    return static_cast<std::size_t>(std::ranges::count(frame, '+'));
  }

  void hold(const std::string& pod, const std::string& id, std::set<std::string> tickets) {
    ASSERT_EQ(node.allocate("trio", {id}), "granted");
    ASSERT_EQ(node.allocate("trio_more", {tickets.begin(), tickets.end()}), "granted");
    node.pass(100ms);
    node.record(pod, "trio", {id});
    node.record(pod, "trio_more", std::move(tickets));
    node.write();
  }

  void expectNoQuarrel() const {
    for (const char* event : {"disputed", "foreign", "foreign-ids"}) {
      EXPECT_FALSE(node.told(event)) << event;
    }
  }

  test::LedgerNode node;
};

TEST(MoreTickets, AreReadAsTheyAreWrittenAndNoOtherWay) {
  const MoreTicket written{test::resource("pair"), "set:left", 3};
  EXPECT_EQ(moreTicketId(written), "more:vfiogate.dev/pair/set:left/3");
  EXPECT_EQ(moreTicketIn(moreTicketId(written)), written);
  EXPECT_TRUE(moreTicketIn("more:vfiogate.dev/card/0000:01:00.0/1"));
  EXPECT_TRUE(areTickets({"companion:0000:01:00.1", "more:vfiogate.dev/card/0000:01:00.0/1"}));
  for (const char* id :
       {"more:", "more:/", "more://", "more:vfiogate.dev/pair/set:left",
        "more:vfiogate.dev/pair/set:left/0", "more:vfiogate.dev/pair/set:left/01",
        "more:vfiogate.dev/pair/set:left/-1", "more:vfiogate.dev/pair/set:left/1x",
        "more:vfiogate.dev/pair/left/1", "more:pair/set:left/1", "more:/pair/set:left/1",
        "more:a.b/c/d/set:left/1", "more:vfiogate.dev/pair/0000:1:00.0/1",
        "more:vfiogate.dev/pair/set:left/99999999999999999999999", "set:left", "0000:01:00.0"}) {
    EXPECT_FALSE(moreTicketIn(id)) << id;
    EXPECT_FALSE(areTickets({id})) << id;
  }
  EXPECT_FALSE(areTickets({}));
}

TEST_F(MoreOfSets, TheAnswerNamesTheFirstDeviceAndTheOthersApart) {
  node.start();
  const CallId call = node.ask("trio", {kRight, kLeft});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(node.answers.at(call).response->environment,
              ElementsAre(Pair("PCI_RESOURCE_VFIOGATE_DEV_TRIO", "0000:01:00.0,0000:04:00.0"),
                          Pair("PCI_RESOURCE_VFIOGATE_DEV_TRIO_MORE",
                               "0000:02:00.0,0000:03:00.0,0000:05:00.0,0000:06:00.0")));
  EXPECT_THAT(node.answers.at(call).response->nodes,
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/31", "/dev/vfio/32", "/dev/vfio/33",
                          "/dev/vfio/34", "/dev/vfio/35", "/dev/vfio/36"));
}

TEST_F(MoreOfSets, EachSetHasATicketForEachOfItsOtherDevices) {
  node.start();
  EXPECT_EQ(node.frame("trio"), "set:left+ set:middle+ set:right+");
  EXPECT_EQ(node.frame("trio_more"),
            "more:vfiogate.dev/trio/set:left/1+ more:vfiogate.dev/trio/set:left/2+ "
            "more:vfiogate.dev/trio/set:middle/1+ more:vfiogate.dev/trio/set:middle/2+ "
            "more:vfiogate.dev/trio/set:right/1+ more:vfiogate.dev/trio/set:right/2+");
}

TEST_F(MoreOfSets, StatusTellsOfWhatTheyAreTheTickets) {
  node.start();
  ASSERT_EQ(node.allocate("trio", {kLeft}), "granted");
  const PluginStatus told = statusOf(node.ledger.state(), {});
  ASSERT_EQ(told.resources.size(), 2U);
  EXPECT_EQ(told.resources[0].moreOf, std::nullopt);
  EXPECT_EQ(told.resources[1].name, test::resource("trio_more"));
  EXPECT_EQ(told.resources[1].moreOf, (MoreStatus{test::resource("trio"), 6, 4}))
      << "the tickets of middle are not Healthy";
  EXPECT_THAT(told.resources[1].devices, IsEmpty());
}

// I1: a ticket gives access to nothing, and takes nothing from anybody.
TEST_F(MoreOfSets, I1_ATicketIsAnsweredWithNothingAndHoldsNothing) {
  node.start();
  const std::vector<std::string> tickets{ticket(kLeft, 1), ticket(kRight, 2)};
  const CallId call = node.ask("trio_more", tickets);
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(*node.answers.at(call).response, AllocationResponse{});
  EXPECT_EQ(node.preStart("trio_more", tickets), "done");
  node.record("p1", "trio_more", {tickets.begin(), tickets.end()});
  node.write();
  EXPECT_TRUE(node.ledger.state().records.empty());
  EXPECT_EQ(node.allocate("trio", {kLeft}), "granted") << "who has a ticket has no set";
}

// Whoever finds a set free finds as many tickets free: whichever tickets the others have.
TEST_F(MoreOfSets, AFreeSetHasItsTicketsWhicheverOnesTheOthersHave) {
  const std::vector<std::set<std::string>> choices{{ticket(kLeft, 1), ticket(kLeft, 2)},
                                                   {ticket(kMiddle, 1), ticket(kRight, 2)},
                                                   {ticket(kRight, 1), ticket(kRight, 2)}};
  for (const auto& tickets : choices) {
    test::LedgerNode fresh;
    std::swap(fresh, node);
    node.hardware = fresh.hardware;
    node.settings = fresh.settings;
    node.start();
    hold("p1", kLeft, tickets);
    node.pass(timing::kFrameStay);  // what no longer counts is gone by then
    EXPECT_EQ(node.frame("trio"), "set:left+ set:middle- set:right+");
    EXPECT_GE(healthyTickets(), tickets.size() + 2) << *tickets.begin();
    std::size_t free = 0;
    for (const char* id : {kLeft, kMiddle, kRight}) {
      for (const std::size_t number : {1U, 2U}) {
        const std::string one = ticket(id, number);
        const bool healthy = node.frame("trio_more").find(one + "+") != std::string::npos;
        if (healthy && !tickets.contains(one)) ++free;
      }
    }
    EXPECT_GE(free, 2U) << "for set right";
    expectNoQuarrel();
  }
}

// A kubelet admits running pods again only with Healthy ids.
TEST_F(MoreOfSets, ARecordedTicketStaysHealthyWhereItsSetDoesNot) {
  node.start();
  hold("p1", kLeft, {ticket(kRight, 1), ticket(kMiddle, 2)});
  PciDevice& last = node.hardware.device(kGpu[5]);
  last.driver = "nvidia";
  last.vfioDev.reset();
  last.cdevNode = false;
  node.see();
  EXPECT_EQ(node.frame("trio"), "set:left+ set:middle- set:right-");
  EXPECT_EQ(node.frame("trio_more"),
            "more:vfiogate.dev/trio/set:left/1+ more:vfiogate.dev/trio/set:left/2+ "
            "more:vfiogate.dev/trio/set:middle/1- more:vfiogate.dev/trio/set:middle/2+ "
            "more:vfiogate.dev/trio/set:right/1+ more:vfiogate.dev/trio/set:right/2-");
}

TEST_F(MoreOfSets, I5_AfterARestartWithTicketsHeldNothingIsDisputed) {
  node.record("p1", "trio", {kLeft});
  node.record("p1", "trio_more", {ticket(kRight, 1), ticket(kRight, 2)});
  node.record("p2", "trio_more", {ticket("set:gone", 1), "more:vfiogate.dev/other/set:x/1"});
  node.registered["vfiogate.dev/trio_more"] = {ticket(kLeft, 1)};
  node.start();
  expectNoQuarrel();
  EXPECT_EQ(node.holding(kGpu[0]), Holding::kAllocated);
  EXPECT_EQ(node.holding(kGpu[3]), Holding::kFree);
  EXPECT_EQ(node.frame("trio"), "set:left+ set:middle- set:right+");
  EXPECT_THAT(node.frame("trio_more"), HasSubstr(ticket("set:gone", 1) + "+"));
  EXPECT_EQ(node.allocate("trio", {kRight}), "granted");
}

// The kubelet lost its checkpoint while the pod runs: its set is nobody else's, tickets are.
TEST_F(MoreOfSets, I1_AForgottenCheckpointGivesTheTicketsAndNotTheSet) {
  node.start();
  hold("p1", kLeft, {ticket(kLeft, 1), ticket(kLeft, 2)});
  for (std::uint32_t group = 31; group < 34; ++group) node.use(group, GroupUse::kOpen);
  node.see();
  node.entries.clear();
  node.newKubelet();
  node.pass(30s);
  EXPECT_EQ(node.allocate("trio_more", {ticket(kLeft, 1), ticket(kLeft, 2)}), "granted");
  EXPECT_EQ(node.allocate("trio", {kLeft}), "forgotten");
  EXPECT_EQ(node.allocate("trio", {kRight}), "granted");
}

TEST_F(MoreOfSets, AVmThatEndsGivesBackAll) {
  node.start();
  hold("p1", kLeft, {ticket(kMiddle, 1), ticket(kMiddle, 2)});
  node.forget("p1");
  node.pass(1s);
  node.write();
  node.pass(90s);
  EXPECT_EQ(node.frame("trio"), "set:left+ set:middle+ set:right+");
  EXPECT_EQ(healthyTickets(), 6U);
}

TEST_F(MoreOfSets, ATicketIsAnsweredWhileNothingIsKnown) {
  EXPECT_EQ(node.allocate("trio_more", {ticket(kLeft, 1)}), "granted");
}

TEST_F(MoreOfSets, TicketsAmongSetsAreRefused) {
  node.start();
  EXPECT_EQ(node.allocate("trio", {kLeft, ticket(kLeft, 1)}), "not-shown");
}

// The configuration promises every VM of the resource two further devices.
TEST_F(MoreOfSets, ASetOfAnotherSizeIsNeverAnswered) {
  node.settings.resources[0].sets[0].units.erase(at(kGpu[0]));
  node.start();
  EXPECT_EQ(node.allocate("trio", {kLeft}), "not-viable:unit-size");
  EXPECT_EQ(node.allocate("trio", {kRight}), "granted");
}

TEST_F(MoreOfSets, TicketsGoWithTheKeyAndHeldOnesWithTheirPod) {
  node.start();
  hold("p1", kLeft, {ticket(kLeft, 1), ticket(kMiddle, 2)});
  node.settings.resources[0].allocation.more.reset();
  node.see();
  node.pass(61s);
  EXPECT_EQ(node.frame("trio_more"),
            "more:vfiogate.dev/trio/set:left/1+ more:vfiogate.dev/trio/set:middle/2+");
  EXPECT_EQ(node.frame("trio"), "set:left+ set:middle- set:right+");
}

constexpr const char* kCard1 = "0000:01:00.0";
constexpr const char* kSound1 = "0000:01:00.1";
constexpr const char* kCard2 = "0000:02:00.0";
constexpr const char* kSound2 = "0000:02:00.1";

/// Two cards with their audio functions in groups 31 and 32, each one device of its resource.
class MoreOfGroups : public testing::Test {
protected:
  MoreOfGroups() {
    node.hardware.add(kCard1, 31);
    addSound(kSound1, 31);
    node.hardware.add(kCard2, 32);
    addSound(kSound2, 32);
    AllocationSettings& whole = node.offer("vendor=10de", "card").allocation;
    whole.serve = Serve::kPlugin;
    whole.groupUnit = GroupUnit::kWhole;
    whole.companions = Companions::kAdvertise;
    whole.more = MoreDevices{test::resource("card_more"), 1};
  }

  void addSound(const char* address, std::uint32_t group) {
    PciDevice& sound = node.hardware.add(address, group);
    sound.device = std::uint16_t{0x22ba};
    sound.classCode = 0x040300;
  }

  test::LedgerNode node;
};

TEST_F(MoreOfGroups, TheAnswerNamesEachFunctionOfTheGroups) {
  node.start();
  EXPECT_EQ(node.frame("card"), "0000:01:00.0+ 0000:02:00.0+");
  EXPECT_EQ(node.frame("card_more"),
            "more:vfiogate.dev/card/0000:01:00.0/1+ more:vfiogate.dev/card/0000:02:00.0/1+");
  const CallId call = node.ask("card", {kCard2, kCard1});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(
      node.answers.at(call).response->environment,
      ElementsAre(Pair("PCI_RESOURCE_VFIOGATE_DEV_CARD", "0000:01:00.0,0000:02:00.0"),
                  Pair("PCI_RESOURCE_VFIOGATE_DEV_CARD_MORE", "0000:01:00.1,0000:02:00.1")));
}

TEST_F(MoreOfGroups, I5_EitherOrderOfAVmsTwoRequestsIsGrantedAndLivesThroughARestart) {
  for (const bool ticketFirst : {true, false}) {
    test::LedgerNode fresh;
    fresh.hardware = node.hardware;
    fresh.settings = node.settings;
    fresh.start();
    const std::string other = moreTicketId({test::resource("card"), kCard2, 1});
    if (ticketFirst) {
      EXPECT_EQ(fresh.allocate("card_more", {other}), "granted");
    }
    EXPECT_EQ(fresh.allocate("card", {kCard1}), "granted");
    if (!ticketFirst) {
      EXPECT_EQ(fresh.allocate("card_more", {other}), "granted");
    }
    fresh.pass(100ms);
    fresh.record("p1", "card", {kCard1});
    fresh.record("p1", "card_more", {other});
    fresh.write();
    EXPECT_EQ(fresh.preStart("card_more", {other}), "done");
    EXPECT_EQ(fresh.preStart("card", {kCard1}), "done");
    test::LedgerNode next;
    next.hardware = node.hardware;
    next.settings = node.settings;
    next.entries = fresh.entries;
    next.start();
    EXPECT_EQ(next.holding(kCard1), Holding::kAllocated);
    EXPECT_EQ(next.holding(kCard2), Holding::kFree);
    EXPECT_EQ(next.frame("card_more"), fresh.frame("card_more"));
    for (const char* event : {"disputed", "foreign", "foreign-ids", "refused"}) {
      EXPECT_FALSE(fresh.told(event) || next.told(event)) << event;
    }
  }
}

// A VM with two entries would fail with one address, and leave a function out with three.
TEST_F(MoreOfGroups, AGroupOfAnotherSizeIsNotOffered) {
  node.hardware.add("0000:02:00.2", 32).device = std::uint16_t{0x1ad6};
  node.hardware.add("0000:03:00.0", 33);
  node.start();
  EXPECT_EQ(node.frame("card"), "0000:01:00.0+");
  EXPECT_EQ(node.frame("card_more"), "more:vfiogate.dev/card/0000:01:00.0/1+");
  const Explanation told = explain(node.settings, node.ledger.state(), at(kCard2));
  EXPECT_EQ(told.reason, "unit-size");
  EXPECT_EQ(told.text,
            "goes along with 2 more, and more.count of its resource is 1: give units of another "
            "size a resource of their own");
  EXPECT_EQ(explain(node.settings, node.ledger.state(), at("0000:03:00.0")).reason, "unit-size");
}

// The pod that has it may be offered it again: with one address less its VM would not start.
TEST_F(MoreOfGroups, AHeldGroupThatLostAFunctionIsNotAnsweredAgain) {
  node.start();
  ASSERT_EQ(node.allocate("card", {kCard1}), "granted");
  node.pass(100ms);
  node.record("p1", "card", {kCard1});
  node.write();
  node.hardware.remove(kSound1);
  node.see();
  node.pass(30s);
  EXPECT_EQ(node.frame("card"), "0000:01:00.0+ 0000:02:00.0+") << "what is held stays";
  EXPECT_THAT(node.frame("card_more"), HasSubstr("0000:01:00.0/1+"));
  EXPECT_EQ(node.allocate("card", {kCard1}), "not-viable:unit-size");
}

TEST_F(MoreOfGroups, WithoutTheKeyAGroupHasOneAddress) {
  node.settings.resources[0].allocation.more.reset();
  node.start();
  EXPECT_EQ(node.frame("card_more"), "none");
  const CallId call = node.ask("card", {kCard1});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(node.answers.at(call).response->environment,
              ElementsAre(Pair("PCI_RESOURCE_VFIOGATE_DEV_CARD", "0000:01:00.0")));
}

TEST_F(MoreOfGroups, ADeviceOfThatNameIsLeftOut) {
  node.hardware.add("0000:04:00.0", 34).vendor = std::uint16_t{0x8086};
  node.offer("vendor=8086", "card_more");
  node.start();
  EXPECT_EQ(explain(node.settings, node.ledger.state(), at("0000:04:00.0")).reason, "two-settings");
  EXPECT_EQ(node.frame("card_more"),
            "more:vfiogate.dev/card/0000:01:00.0/1+ more:vfiogate.dev/card/0000:02:00.0/1+");
}

}  // namespace
}  // namespace vfiogate
