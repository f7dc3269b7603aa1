// SR-IOV: whoever has a physical function has a hand in what the holders of its virtual ones do, so
// these exclude each other over their groups.

#include <gmock/gmock.h>

#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kPf = "0000:11:00.0";
constexpr const char* kVf0 = "0000:11:01.0";
constexpr const char* kVf1 = "0000:11:01.1";

class SriovCase : public LedgerCase {
protected:
  SriovCase() {
    PciDevice& physical = node.hardware.add(kPf, 40);
    physical.device = std::uint16_t{0x1520};
    physical.sriov = SriovRole::kPhysicalFunction;
    node.offer("device=1520", "pf");
    node.offer("device=1521", "vf");
  }

  void makeVirtual(const char* address, std::uint32_t group) {
    PciDevice& made = node.hardware.add(address, group);
    made.device = std::uint16_t{0x1521};
    made.sriov = SriovRole::kVirtualFunction;
    made.physicalFunction = at(kPf);
    ++node.hardware.device(kPf).virtualFunctions;
  }
  void removeVirtual(const char* address) {
    node.hardware.remove(address);
    --node.hardware.device(kPf).virtualFunctions;
  }
};

TEST_F(SriovCase, I1_APhysicalFunctionIsNotOfferedWhileItHasVirtualOnes) {
  node.start();
  EXPECT_EQ(node.frame("pf"), std::string(kPf) + "+");
  makeVirtual(kVf0, 41);
  node.see();
  EXPECT_EQ(node.frame("pf"), std::string(kPf) + "-");
  EXPECT_EQ(node.allocate("pf", {kPf}), "not-viable:has-vfs");
  removeVirtual(kVf0);
  node.see();
  EXPECT_EQ(node.frame("pf"), std::string(kPf) + "+");
  EXPECT_EQ(node.allocate("pf", {kPf}), "granted");
}

TEST_F(SriovCase, I1_ItsVirtualFunctionsGoToDifferentHolders) {
  makeVirtual(kVf0, 41);
  makeVirtual(kVf1, 42);
  node.start();
  hold("p1", "vf", {kVf0});
  EXPECT_EQ(node.frame("vf"), std::string(kVf0) + "+ " + kVf1 + "+");
  hold("p2", "vf", {kVf1});
  EXPECT_EQ(node.holding(kVf0), Holding::kAllocated);
  EXPECT_EQ(node.holding(kVf1), Holding::kAllocated);
}

TEST_F(SriovCase, I1_VirtualFunctionsMadeOfAnAllocatedOneAreNotOffered) {
  node.start();
  hold("p1", "pf", {kPf});
  makeVirtual(kVf0, 41);
  node.see();
  EXPECT_EQ(node.frame("vf"), std::string(kVf0) + "-");
  const CallId call = node.ask("vf", {kVf0});
  EXPECT_EQ(node.outcome(call), "pf-allocated");
  EXPECT_THAT(node.text(call), HasSubstr("its physical function 0000:11:00.0 is allocated since "));
  EXPECT_EQ(node.holding(kPf), Holding::kAllocated);
  EXPECT_EQ(node.frame("pf"), std::string(kPf) + "+") << "I4: its holder's";
  node.forget("p1");
  node.pass(75s);
  EXPECT_EQ(node.frame("vf"), std::string(kVf0) + "+");
  EXPECT_EQ(node.allocate("vf", {kVf0}), "granted");
}

// A virtual function that went takes its record's hold on the physical one with it.
TEST_F(SriovCase, I1_OneThatComesBackIsNotItsHoldersWhileThePhysicalOneIsAnothers) {
  makeVirtual(kVf0, 41);
  node.start();
  hold("p1", "vf", {kVf0});
  removeVirtual(kVf0);
  node.see();
  hold("p2", "pf", {kPf});
  makeVirtual(kVf0, 41);
  node.see();
  EXPECT_EQ(node.allocate("vf", {kVf0}), "pf-allocated");
}

TEST_F(SriovCase, I5_InOneGroupTheyAreOneUnit) {
  makeVirtual(kVf0, 40);
  node.start();
  hold("p1", "vf", {kVf0});
  EXPECT_EQ(node.frame("pf"), std::string(kPf) + "-");
  EXPECT_EQ(node.allocate("pf", {kPf}), "group-allocated");
}

}  // namespace
}  // namespace vfiogate::test
