// `companions: attach`: a card's answer names its companions, and a ticket is nothing.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::at;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kCard1 = "0000:01:00.0";
constexpr const char* kSound1 = "0000:01:00.1";
constexpr const char* kCard2 = "0000:02:00.0";
constexpr const char* kSound2 = "0000:02:00.1";
constexpr const char* kTicket1 = "companion:0000:01:00.1";
constexpr const char* kTicket2 = "companion:0000:02:00.1";

/// Two cards in groups 31 and 32, each with its audio function.
class Attached : public testing::Test {
protected:
  Attached() {
    node.hardware.add(kCard1, 31);
    addSound(kSound1, 31);
    node.hardware.add(kCard2, 32);
    addSound(kSound2, 32);
    node.offer("device=2684", "gpu").allocation.serve = Serve::kPlugin;
    ResourceSettings& audio = node.offer("class=0403", "audio");
    audio.allocation.serve = Serve::kPlugin;
    audio.allocation.companions = Companions::kAttach;
  }

  void addSound(const char* address, std::uint32_t group) {
    PciDevice& sound = node.hardware.add(address, group);
    sound.device = std::uint16_t{0x22ba};
    sound.classCode = 0x040300;
  }

  void leaveVfio(const char* address, const char* driver) {
    PciDevice& device = node.hardware.device(address);
    device.driver = driver;
    device.vfioDev.reset();
    device.cdevNode = false;
  }

  std::map<std::string, std::string> variables(CallId call) const {
    return node.answers.at(call).response->environment;
  }

  /// Records and reads what a pod was given.
  void recordPod(const std::string& pod, const std::string& card, const std::string& ticket) {
    node.pass(100ms);
    node.record(pod, "gpu", {card});
    node.record(pod, "audio", {ticket});
    node.write();
  }

  test::LedgerNode node;
};

TEST_F(Attached, TheCardsAnswerNamesItsCompanionsInTheOrderOfTheCards) {
  node.start();
  const CallId call = node.ask("gpu", {kCard2, kCard1});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(
      variables(call),
      UnorderedElementsAre(Pair("PCI_RESOURCE_VFIOGATE_DEV_GPU", "0000:01:00.0,0000:02:00.0"),
                           Pair("PCI_RESOURCE_VFIOGATE_DEV_AUDIO", "0000:01:00.1,0000:02:00.1")));
  EXPECT_THAT(node.answers.at(call).response->nodes,
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/31", "/dev/vfio/32"));
}

TEST_F(Attached, WithIommufdTheirNodesAreAmongTheCards) {
  node.settings.resources[0].allocation.backend = Backend::kIommufd;
  node.start();
  const CallId call = node.ask("gpu", {kCard1});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_THAT(node.answers.at(call).response->nodes,
              ElementsAre("/dev/iommu", "/dev/vfio/devices/vfio0", "/dev/vfio/devices/vfio1"));
  recordPod("p1", kCard1, kTicket1);
  EXPECT_EQ(node.preStart("gpu", {kCard1}), "done");
}

TEST_F(Attached, StatusTellsOfEachTicketsCard) {
  node.start();
  node.hardware.device(kSound2).answers = false;
  node.see();
  const PluginStatus told = statusOf(node.ledger.state(), {});
  ASSERT_EQ(told.resources.size(), 2U);
  const ResourceStatus& audio = told.resources.front();
  EXPECT_EQ(audio.name, test::resource("audio"));
  EXPECT_THAT(audio.devices, testing::IsEmpty());
  EXPECT_THAT(audio.tickets,
              ElementsAre(TicketStatus{at(kSound1), "10de:22ba", at(kCard1), true},
                          TicketStatus{at(kSound2), "10de:22ba", at(kCard2), false}));
  EXPECT_THAT(told.resources.back().tickets, testing::IsEmpty());
}

// I1: a ticket gives access to nothing, and takes nothing from anybody.
TEST_F(Attached, I1_ATicketIsAnsweredWithNothingAndHoldsNothing) {
  node.start();
  const CallId call = node.ask("audio", {kTicket1});
  ASSERT_EQ(node.outcome(call), "granted");
  EXPECT_EQ(*node.answers.at(call).response, AllocationResponse{});
  EXPECT_EQ(node.preStart("audio", {kTicket1}), "done");
  node.record("p1", "audio", {kTicket1});
  node.write();
  EXPECT_EQ(node.holding(kCard1), Holding::kFree);
  EXPECT_TRUE(node.ledger.state().records.empty());
  EXPECT_EQ(node.allocate("gpu", {kCard1}), "granted") << "who has a ticket has no card";
}

// I1: one group, one VM, whatever tickets say.
TEST_F(Attached, I1_ASecondPodGetsNoCardOfAHeldGroup) {
  constexpr const char* kTwin = "0000:01:00.2";
  node.hardware.add(kTwin, 31).device = std::uint16_t{0x2685};
  node.offer("device=2685", "twin");
  node.start();
  ASSERT_EQ(node.allocate("audio", {kTicket1}), "granted");
  ASSERT_EQ(node.allocate("gpu", {kCard1}), "granted");
  recordPod("p1", kCard1, kTicket1);
  ASSERT_EQ(node.allocate("audio", {kTicket1}), "granted") << "a ticket more is nothing";
  EXPECT_EQ(node.frame("twin"), "0000:01:00.2-");
  EXPECT_EQ(node.allocate("twin", {kTwin}), "group-allocated");
  EXPECT_EQ(node.allocate("audio", {kSound1}), "not-shown") << "the function itself is not offered";
}

TEST_F(Attached, EitherOrderOfAVmsTwoRequestsIsGrantedAndDisputesNothing) {
  for (const bool ticketFirst : {true, false}) {
    test::LedgerNode fresh;
    fresh.hardware = node.hardware;
    fresh.settings = node.settings;
    fresh.start();
    if (ticketFirst) {
      EXPECT_EQ(fresh.allocate("audio", {kTicket1}), "granted");
    }
    EXPECT_EQ(fresh.allocate("gpu", {kCard1}), "granted");
    if (!ticketFirst) {
      EXPECT_EQ(fresh.allocate("audio", {kTicket2}), "granted") << "any ticket will do";
    }
    fresh.pass(100ms);
    fresh.record("p1", "gpu", {kCard1});
    fresh.record("p1", "audio", {ticketFirst ? kTicket1 : kTicket2});
    fresh.write();
    EXPECT_EQ(fresh.preStart("audio", {ticketFirst ? kTicket1 : kTicket2}), "done");
    EXPECT_EQ(fresh.preStart("gpu", {kCard1}), "done");
    EXPECT_EQ(fresh.ledger.state().records.size(), 1U);
    for (const char* event : {"disputed", "foreign", "foreign-ids", "refused"}) {
      EXPECT_FALSE(fresh.told(event)) << event;
    }
    fresh.forget("p1");
    fresh.pass(75s);
    EXPECT_EQ(fresh.holding(kCard1), Holding::kFree);
    EXPECT_EQ(fresh.frame("audio"), "companion:0000:01:00.1+ companion:0000:02:00.1+");
  }
}

// The kubelet's memory of before this plugind: tickets, also of what is gone.
TEST_F(Attached, TicketsInTheKubeletsMemoryHoldAndDisputeNothing) {
  node.record("p1", "gpu", {kCard1});
  node.record("p1", "audio", {kTicket2});
  node.record("p2", "audio", {"companion:0000:77:00.1", kTicket1});
  node.registered["vfiogate.dev/audio"] = {kTicket1, kTicket2};
  node.start();
  EXPECT_EQ(node.holding(kCard1), Holding::kAllocated);
  EXPECT_EQ(node.holding(kCard2), Holding::kFree);
  for (const char* event : {"disputed", "foreign", "foreign-ids"}) {
    EXPECT_FALSE(node.told(event)) << event;
  }
  EXPECT_EQ(node.frame("audio"),
            "companion:0000:01:00.1+ companion:0000:02:00.1+ companion:0000:77:00.1-");
  EXPECT_EQ(node.allocate("gpu", {kCard2}), "granted");
}

// I1: before `attach` the function itself was allocated (`advertise`): its pod has the group still.
TEST_F(Attached, I1_AnAddressUnderTheTicketsResourceHoldsItsGroup) {
  node.record("p1", "audio", {kSound1});
  node.registered["vfiogate.dev/gpu"] = {kCard1};
  node.start();
  EXPECT_EQ(node.holding(kCard1), Holding::kAllocated);
  EXPECT_EQ(node.allocate("gpu", {kCard1}), "group-allocated");
}

TEST_F(Attached, HealthFollowsTheCard) {
  node.start();
  EXPECT_EQ(node.frame("audio"), "companion:0000:01:00.1+ companion:0000:02:00.1+");
  leaveVfio(kSound1, "snd_hda_intel");
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0- 0000:02:00.0+");
  EXPECT_EQ(node.frame("audio"), "companion:0000:01:00.1- companion:0000:02:00.1+");
  node.hardware.remove(kCard2);
  node.hardware.remove(kSound2);
  node.see();
  EXPECT_EQ(node.frame("audio"), "companion:0000:01:00.1- companion:0000:02:00.1-");
  node.pass(61s);
  EXPECT_EQ(node.frame("audio"), "companion:0000:01:00.1-");
}

// A kubelet admits running pods again only with Healthy ids.
TEST_F(Attached, ARecordedTicketStaysHealthyWhereItsCardDoesNot) {
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kCard1}), "granted");
  ASSERT_EQ(node.allocate("audio", {kTicket2}), "granted");
  recordPod("p1", kCard1, kTicket2);
  leaveVfio(kCard2, "nvidia");
  node.see();
  EXPECT_EQ(node.frame("gpu"), "0000:01:00.0+ 0000:02:00.0-");
  EXPECT_EQ(node.frame("audio"), "companion:0000:01:00.1+ companion:0000:02:00.1+");
}

TEST_F(Attached, ATicketIsAnsweredWhileNothingIsKnown) {
  const CallId call = node.ask("audio", {kTicket1});
  EXPECT_EQ(node.outcome(call), "granted");
}

TEST_F(Attached, TicketsAmongDevicesAreRefused) {
  node.start();
  EXPECT_EQ(node.allocate("gpu", {kCard1, kTicket1}), "not-shown");
  EXPECT_EQ(node.holding(kCard1), Holding::kFree);
}

TEST_F(Attached, ExplainSaysWithWhatItGoes) {
  node.start();
  const Explanation told = explain(node.settings, node.ledger.state(), at(kSound1));
  EXPECT_EQ(told.reason, "companion");
  EXPECT_THAT(told.text, HasSubstr("0000:01:00.0 of its group, whose answer names it as "
                                   "vfiogate.dev/audio"));
}

// I1: its node is handed over like the card's.
TEST_F(Attached, I1_ACompanionThatWasHandedOverIsCompared) {
  node.settings.resources[0].allocation.backend = Backend::kIommufd;
  node.start();
  ASSERT_EQ(node.allocate("gpu", {kCard1}), "granted");
  recordPod("p1", kCard1, kTicket1);
  node.hardware.device(kSound1).vfioDev = 9;
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kCard1}), "stale-nodes");
  node.hardware.device(kSound1).device = std::uint16_t{0x22bb};
  node.see();
  EXPECT_EQ(node.preStart("gpu", {kCard1}), "other-hardware");
}

// The answer of a set tells which units its pod has: what went along with these is none of them.
TEST_F(Attached, I1_ACompanionIsNoUnitOfTheSetThatItWentAlongWith) {
  ResourceSettings both;
  both.name = test::resource("both");
  both.sets = {{"all", {at(kCard1), at(kCard2)}}};
  both.setsOverlap = true;
  node.settings.resources.push_back(both);
  node.start();
  ASSERT_EQ(node.allocate("both", {"set:all"}), "granted");
  const auto& response = *node.answers.at(CallId(node.lastCall)).response;
  ASSERT_THAT(response.environment.at("PCI_RESOURCE_VFIOGATE_DEV_AUDIO"), HasSubstr(kSound1));
  node.pass(100ms);
  node.record("p1", "both", {"set:all"});
  node.entries.back().allocated = response.annotations.at(kAllocatedAnnotation);
  node.write();
  for (ResourceSettings& entry : node.settings.resources) {
    entry.allocation.companions = Companions::kHide;
  }
  node.ledger = Ledger(LedgerSettings{});
  node.start();
  const auto& records = node.ledger.state().records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_THAT(records[0].ids, ElementsAre(at(kCard1)));
  EXPECT_THAT(records[1].ids, ElementsAre(at(kCard2)));
  EXPECT_EQ(node.preStart("both", {"set:all"}), "done");
}

}  // namespace
}  // namespace vfiogate
