// `companions: attach` with a VM of NVIDIA's plugin: one container asks for a card and its audio
// function, each under its own resource.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

namespace vfiogate::test {
namespace {

const std::string kGa102Cards = "nvidia.com/GA102_CARD";
const std::string kGa102Audio = "nvidia.com/GA102_AUDIO";
const std::string kFirstCard = "0000:01:00.0";
const std::string kFirstSound = "0000:01:00.1";
const std::string kSecondCard = "0000:02:00.0";
const std::string kSecondSound = "0000:02:00.1";
const std::string kGa102Twins = "nvidia.com/GA102_TWIN";
const std::string kTwinCard = "0000:01:00.2";  // of the first card's group
const std::set<std::string> kTickets{"companion:0000:01:00.1", "companion:0000:02:00.1"};

class AttachedCompanions : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kFirstCard});
    hardware.add({.address = kFirstSound, .device = 0x22ba, .classCode = 0x040300});
    hardware.add({.address = kTwinCard, .device = 0x2685});
    hardware.add({.address = kSecondCard, .group = 8});
    hardware.add({.address = kSecondSound, .device = 0x22ba, .classCode = 0x040300, .group = 8});
  }

  void SetUp() override {
    SplitCase::SetUp();
    if (!node_) return;
    node_->kubelet.start();
    ASSERT_TRUE(startPlugind()) << node_->said();
    ASSERT_TRUE(node_->startPrivd({"--resource-prefix", "nvidia.com/"})) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kGa102Cards, {kFirstCard, kSecondCard})) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kGa102Audio, kTickets)) << node_->said();
  }

  bool startPlugind() {
    return node_->startPlugind("resources:\n- {name: " + kGa102Twins +
                               ", select: {device: \"2685\"}}\n- {name: " + kGa102Cards +
                               ", select: {class: \"03\"}}\n- {name: " + kGa102Audio +
                               ", select: {class: \"0403\"}, companions: attach}\n");
  }

  static sim::PodSpec vm(const std::string& uid) {
    sim::PodSpec pod = podOf(uid, kGa102Cards);
    pod.containers[0].limits[kGa102Audio] = 1;
    return pod;
  }
  /// What KubeVirt's launcher finds in the container, of all answers together.
  static std::map<std::string, std::string> variables(const sim::Admission& admission) {
    std::map<std::string, std::string> all;
    for (const sim::Granted& granted : admission.granted) {
      all.insert(granted.response.envs().begin(), granted.response.envs().end());
    }
    return all;
  }
  void expectNoDispute() {
    for (const char* reason : {"reason=disputed", "reason=foreign", "event=refused"}) {
      EXPECT_EQ(node_->plugind->count(reason), 0U) << reason << "\n" << node_->said();
    }
  }
};

// The order of the two Allocates is the kubelet's: here the ticket's comes both first and last.
TEST_F(AttachedCompanions, EitherOrderGivesTheVmBothAddresses) {
  std::string error;
  const auto card = node_->kubelet.offer(kGa102Cards, {kFirstCard}, error);
  ASSERT_EQ(error, "") << node_->said();
  const auto ticketLast = node_->kubelet.offer(kGa102Audio, {"companion:0000:02:00.1"}, error);
  ASSERT_EQ(error, "") << node_->said();
  const auto ticketFirst = node_->kubelet.offer(kGa102Audio, {"companion:0000:01:00.1"}, error);
  ASSERT_EQ(error, "") << node_->said();
  const auto other = node_->kubelet.offer(kGa102Cards, {kSecondCard}, error);
  ASSERT_EQ(error, "") << node_->said();
  EXPECT_EQ(card.response.envs().at("PCI_RESOURCE_NVIDIA_COM_GA102_CARD"), kFirstCard);
  EXPECT_EQ(card.response.envs().at("PCI_RESOURCE_NVIDIA_COM_GA102_AUDIO"), kFirstSound);
  EXPECT_EQ(other.response.envs().at("PCI_RESOURCE_NVIDIA_COM_GA102_AUDIO"), kSecondSound);
  for (const auto& ticket : {ticketFirst, ticketLast}) {
    EXPECT_EQ(ticket.response.envs_size() + ticket.response.devices_size() +
                  ticket.response.annotations_size() + ticket.response.cdi_devices_size(),
              0);
  }
}

// I1.
TEST_F(AttachedCompanions, I1_AVmLivesThroughARestartAndNobodyElseGetsItsGroup) {
  const auto first = node_->kubelet.admit(vm("p1"));
  ASSERT_TRUE(first.admitted) << first.message << node_->said();
  const auto given = variables(first);
  const std::string card = given.at("PCI_RESOURCE_NVIDIA_COM_GA102_CARD");
  const std::string sound = given.at("PCI_RESOURCE_NVIDIA_COM_GA102_AUDIO");
  EXPECT_EQ(card.substr(0, card.size() - 1), sound.substr(0, sound.size() - 1));
  ASSERT_TRUE(node_->kubelet.startContainer("p1", "compute").started) << node_->said();

  const auto registered = node_->kubelet.registrations(kGa102Audio);
  node_->killPlugind();
  ASSERT_TRUE(startPlugind()) << node_->said();
  ASSERT_TRUE(node_->kubelet.awaitRegistrations(kGa102Audio, registered + 1)) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(kGa102Cards, {kFirstCard, kSecondCard})) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(kGa102Audio, kTickets)) << node_->said();
  ASSERT_TRUE(node_->kubelet.restartContainer("p1", "compute").started) << node_->said();
  std::string error;
  node_->kubelet.offer(kGa102Audio, {*kTickets.begin()}, error);
  EXPECT_EQ(error, "") << "a ticket more is nothing";
  node_->kubelet.offer(kGa102Audio, {sound}, error);
  EXPECT_NE(error, "") << "the function itself is not to be had";

  const auto second = node_->kubelet.admit(vm("p2"));
  ASSERT_TRUE(second.admitted) << second.message << node_->said();
  EXPECT_NE(variables(second).at("PCI_RESOURCE_NVIDIA_COM_GA102_CARD"), card);
  EXPECT_FALSE(node_->kubelet.admit(vm("p3")).admitted) << "both cards have a VM";
  node_->kubelet.offer(kGa102Twins, {kTwinCard}, error);
  EXPECT_THAT(error, testing::HasSubstr("not-shown")) << "nothing of a held group is offered";
}

TEST_F(AttachedCompanions, AVmThatEndsLetsGoOfBoth) {
  for (const char* uid : {"p1", "p2"}) {
    ASSERT_TRUE(node_->kubelet.admit(vm(uid)).admitted) << node_->said();
  }
  expectNoDispute();
  node_->kubelet.end("p1");
  const auto next = node_->kubelet.admit(vm("p3"));
  EXPECT_TRUE(next.admitted) << next.message << node_->said();
  EXPECT_EQ(node_->kubelet.allocated(kGa102Audio).size(), 2U);
  expectNoDispute();
}

}  // namespace
}  // namespace vfiogate::test
