// vGPUs that are virtual functions: their host driver offers them to VFIO, once a type is set, and
// nothing shows whether they are open.

#include <gmock/gmock.h>

#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kOne = "0000:11:00.4";
constexpr const char* kTwo = "0000:11:00.5";

class VgpuCase : public LedgerCase {
protected:
  VgpuCase() {
    add(kOne, 100, 1147);
    add(kTwo, 101, 1147);
    node.offer("sriov=vf,device=26b9", "vgpu");
  }

  void add(const char* address, std::uint32_t group, std::uint32_t type) {
    PciDevice& made = node.hardware.add(address, group);
    made.device = std::uint16_t{0x26b9};
    made.driver = "nvidia";
    made.sriov = SriovRole::kVirtualFunction;
    made.enableCount = 1;
    made.vgpuType = type;
    node.use(group, GroupUse::kBlind);
  }
  void set(const char* address, std::uint32_t type) {
    node.hardware.device(address).vgpuType = type;
    node.see();
  }
};

TEST_F(VgpuCase, IsGrantedAsTheFunctionThatItIs) {
  node.start();
  EXPECT_EQ(node.frame("vgpu"), std::string(kOne) + "+ " + kTwo + "+");
  const CallId call = node.ask("vgpu", {kOne});
  ASSERT_EQ(node.outcome(call), "granted");
  const AllocationResponse& response = *node.answers.at(call).response;
  EXPECT_THAT(response.nodes, ElementsAre("/dev/vfio/vfio", "/dev/vfio/100"));
  EXPECT_THAT(response.environment, ElementsAre(std::pair("PCI_RESOURCE_VFIOGATE_DEV_VGPU", kOne)));
  EXPECT_THAT(response.annotations.at(kAllocatedAnnotation), HasSubstr(" type=1147 g100 "));
  EXPECT_EQ(node.holding(kTwo), Holding::kFree);
}

TEST_F(VgpuCase, IsOfferedOnlyWhileATypeIsSet) {
  node.settings.resources.back().allocation.onAllocate = true;
  set(kOne, 0);
  node.facts.bindable.insert(IommuGroupId(7));
  node.start();
  EXPECT_EQ(node.frame("vgpu"), std::string(kOne) + "- " + kTwo + "+");
  EXPECT_EQ(node.allocate("vgpu", {kOne}), "not-viable:no-vgpu-type") << "and nobody binds it";
  set(kOne, 1155);
  EXPECT_EQ(node.frame("vgpu"), std::string(kOne) + "+ " + kTwo + "+");
  set(kTwo, 0);
  EXPECT_EQ(node.frame("vgpu"), std::string(kOne) + "+ " + kTwo + "-");
}

TEST_F(VgpuCase, IsExplainedByTheResourceIntoWhichItFallsNow) {
  ResourceSettings rest = node.settings.resources.back();
  node.settings.resources.back().select = *Selector::parse("vgpu=1147");
  node.settings.resources.back().name.reset();
  rest.name = resource("whole");
  node.settings.resources.push_back(rest);
  set(kOne, 0);
  node.start();
  ASSERT_EQ(node.frame("whole"), std::string(kOne) + "-");
  set(kOne, 1147);
  const Explanation told = explain(node.settings, node.ledger.state(), at(kOne));
  EXPECT_THAT(told.lines.front(), HasSubstr("falls into vfiogate.dev/nvidia-1147: "));
  EXPECT_THAT(told.lines.front(), HasSubstr("named by its type"));
}

TEST_F(VgpuCase, I9_AnotherTypeIsOtherHardware) {
  node.start();
  hold("p1", "vgpu", {kOne});
  set(kOne, 1155);
  EXPECT_EQ(node.preStart("vgpu", {kOne}), "other-hardware");
  set(kOne, 0);
  EXPECT_NE(node.preStart("vgpu", {kOne}), "done");
  EXPECT_EQ(node.holding(kOne), Holding::kAllocated);
  set(kOne, 1147);
  EXPECT_EQ(node.preStart("vgpu", {kOne}), "done") << "it is again what was allocated";
}

TEST_F(VgpuCase, I9_AClaimOfAnotherTypeIsNotPreparedAgain) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "vgpu", {at(kOne)}), "granted");
  ASSERT_EQ(node.prepare("c1", "vgpu", {at(kOne)}), "granted") << "again";
  set(kOne, 1155);
  EXPECT_EQ(node.prepare("c1", "vgpu", {at(kOne)}), "other-hardware");
}

// 28: its driver enables it from the start, which is no use.
TEST_F(VgpuCase, I1_OneThatIsLetGoIsRefusedUntilTheMinuteIsOver) {
  node.start();
  hold("p1", "vgpu", {kOne});
  ASSERT_EQ(node.preStart("vgpu", {kOne}), "done");
  node.pass(20s);
  node.forget("p1");
  const CallId call = node.ask("vgpu", {kOne});
  EXPECT_EQ(node.outcome(call), "cannot-probe");
  EXPECT_THAT(node.text(call), HasSubstr("mediated devices and vGPUs show none"));
  node.pass(50s);
  EXPECT_EQ(node.allocate("vgpu", {kOne}), "cannot-probe");
  node.pass(75s);
  EXPECT_EQ(node.holding(kOne), Holding::kFree);
  EXPECT_TRUE(node.told("unconfirmed"));
  EXPECT_EQ(node.allocate("vgpu", {kOne}), "granted");
}

TEST_F(VgpuCase, I1_AProbeTellsWhetherOneThatIsLetGoIsOpen) {
  node.start();
  node.probe = GroupReading::Probe::kOpen;
  hold("p1", "vgpu", {kOne});
  ASSERT_EQ(node.preStart("vgpu", {kOne}), "done");
  node.pass(20s);
  node.forget("p1");
  EXPECT_EQ(node.allocate("vgpu", {kOne}), "still-open");
  node.pass(120s);
  EXPECT_EQ(node.holding(kOne), Holding::kLingering);
  node.probe = GroupReading::Probe::kIdle;
  node.pass(6s);
  EXPECT_EQ(node.allocate("vgpu", {kOne}), "granted");
  EXPECT_FALSE(node.told("unconfirmed"));
}

TEST_F(VgpuCase, I9_WhatIsNoVgpuAnyMoreIsOtherHardware) {
  node.start();
  hold("p1", "vgpu", {kOne});
  PciDevice& one = node.hardware.device(kOne);
  one.vgpuType.reset();
  one.driver = "vfio-pci";
  one.enableCount = 0;
  node.use(100, GroupUse::kIdle);
  node.see();
  EXPECT_EQ(node.preStart("vgpu", {kOne}), "other-hardware");
}

TEST_F(VgpuCase, I9_WhatBecameAVgpuIsOtherHardware) {
  PciDevice& one = node.hardware.device(kOne);
  one.vgpuType.reset();
  one.driver = "vfio-pci";
  one.enableCount = 0;
  node.use(100, GroupUse::kIdle);
  node.start();
  hold("p1", "vgpu", {kOne});
  ASSERT_EQ(node.preStart("vgpu", {kOne}), "done");
  set(kOne, 1147);
  EXPECT_EQ(node.preStart("vgpu", {kOne}), "other-hardware");
}

// Of a plugind that wrote no type of a function without one nothing is known.
TEST_F(VgpuCase, ATypeIsNotComparedWithAnOlderAnswerThatNamesNone) {
  node.record("p1", "vgpu", {kOne});
  node.entries.back().allocated = std::string(kOne) + " 10de:26b9 class=030000 g100 v- b1;";
  node.start();
  EXPECT_EQ(node.preStart("vgpu", {kOne}), "done");
}

}  // namespace
}  // namespace vfiogate::test
