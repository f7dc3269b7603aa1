// Virtual functions made by privd: the write, and what speaks against it.

#include "privd/bind/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/privd/bind/guard_question.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// A network card that can have eight and has none, up and with routes.
Topology freshCard() {
  Topology one = networkCard();
  one.snapshot.devices.at(at("0000:05:00.0")).virtualFunctions = 0;
  one.factsOf("0000:05:00.0").interfaces = {{.name = "eth1", .flags = 0x1003, .routed = true}};
  return one;
}

PciDevice card() {
  return freshCard().snapshot.devices.at(at("0000:05:00.0"));
}

struct Row {
  const char* name;
  PciDevice device;
  std::uint32_t count;
  std::optional<std::uint32_t> most;
  const char* reason;  ///< empty: nothing speaks against it
  const char* lift;
};

PciDevice with(std::uint32_t functions, const char* driver = "ice",
               SriovRole role = SriovRole::kPhysicalFunction) {
  PciDevice device = card();
  device.virtualFunctions = functions;
  device.driver = driver;
  device.vfioGroup = std::string(driver).find("vfio") != std::string::npos;
  device.sriov = role;
  return device;
}

std::vector<Objection> judge(const PciDevice& device, std::uint32_t count,
                             std::optional<std::uint32_t> most) {
  Topology one = freshCard();
  one.snapshot.devices.at(device.address) = device;
  return objectionsTo({.snapshot = one.snapshot,
                       .group = one.group(6),
                       .changed = {},
                       .named = {device.address},
                       .kind = ChangeKind::kCreateVfs,
                       .by = ChangeBy::kDeclaration,
                       .facts = one.facts,
                       .vfs = count,
                       .mostVfs = most},
                      {}, {});
}

TEST(GuardsOfVfs, SayWhatIsWrongAndWhatWouldLiftIt) {
  const std::vector<Row> rows{
      {"none yet", with(0), 8, 8, "", ""},
      {"fewer than there can be", with(0), 1, 8, "", ""},
      {"so already", with(8), 8, 8, "", ""},
      {"so already, and its driver left", with(8, ""), 8, 8, "", ""},
      {"so already, and the limit is unreadable", with(8), 8, std::nullopt, "", ""},
      {"too many", with(0), 9, 8, "it can have 8 virtual functions, and 9 are wanted", "--vfs"},
      {"one too many", with(0), 2, 1, "it can have 1 virtual function, and 2", "--vfs"},
      {"none at all by its firmware", with(0), 1, 0, "it can have 0 virtual functions", "firmware"},
      {"no limit to be read", with(0), 8, std::nullopt, "sriov_totalvfs cannot be read",
       "privd show"},
      {"others are there", with(4), 8, 8,
       "it has 4 virtual functions, and 8 are wanted: privd ends none",
       "write 0 to its sriov_numvfs"},
      {"more are there", with(8), 1, 8, "it has 8 virtual functions, and 1", "write 0"},
      {"no driver", with(0, ""), 8, 8, "it has no driver", "host driver"},
      {"passed through whole", with(0, "vfio-pci"), 8, 8,
       "it is on vfio-pci, to be passed through whole", "privd unbind 0000:05:00.0"},
      {"a virtual function", with(0, "iavf", SriovRole::kVirtualFunction), 8, 8,
       "no physical function", "firmware"},
      {"a plain one", with(0, "ice", SriovRole::kNone), 8, 8, "no physical function", "firmware"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto found = judge(row.device, row.count, row.most);
    ASSERT_EQ(found.size(), *row.reason == '\0' ? 0U : 1U);
    if (found.empty()) continue;
    EXPECT_EQ(found[0].guard, Guard::kSriov);
    EXPECT_THAT(found[0].reason, HasSubstr(row.reason));
    EXPECT_THAT(found[0].lift, HasSubstr(row.lift));
  }
}

TEST(PlanOfVfs, IsOneWriteWithoutAnUndo) {
  const Plan plan = planVfs(with(0), 8);
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].write,
            (SysfsWrite{at("0000:05:00.0"), "bus/pci/devices/0000:05:00.0/sriov_numvfs", "8"}));
  EXPECT_EQ(plan.steps[0].vfsAfter, 8U);
  EXPECT_THAT(plan.undoOf(1), IsEmpty()) << "privd ends no virtual functions";
  EXPECT_THAT(planVfs(with(8), 8).steps, IsEmpty());
}

std::string judged(const Topology& topology, std::uint32_t count, const GuardQuestion& question) {
  const Bdf address = at("0000:05:00.0");
  const bool already = topology.snapshot.devices.at(address).virtualFunctions == count;
  return shown(objectionsTo({.snapshot = topology.snapshot,
                             .group = topology.group(6),
                             .changed = already ? std::set<Bdf>() : std::set{address},
                             .named = {address},
                             .kind = ChangeKind::kCreateVfs,
                             .by = ChangeBy::kDeclaration,
                             .facts = topology.facts,
                             .allocated = question.allocated,
                             .excluded = question.excluded,
                             .vfs = count,
                             .mostVfs = 8},
                            question.settings, question.overrides));
}

TEST(GuardsOfVfs, AskNeitherWhatMayBeBoundNorWhetherTheCardIsInUseByTheHost) {
  EXPECT_EQ(judged(freshCard(), 8, {}), "") << "no --allow, up, with routes";
  GuardSettings deny;
  deny.deny.push_back(*Selector::parse("address=0000:05:00.0"));
  EXPECT_EQ(judged(freshCard(), 8, {.settings = deny}), "") << "which is about its driver";
}

TEST(GuardsOfVfs, KeepACardThatIsAllocatedExcludedOrOpen) {
  EXPECT_EQ(judged(freshCard(), 8, {.allocated = Allocated::kYes}), "05:00.0 held");
  EXPECT_EQ(judged(freshCard(), 8, {.allocated = Allocated::kUnknown}), "05:00.0 held?");
  EXPECT_EQ(judged(freshCard(), 8, {.excluded = true}), "05:00.0 operator");
  Topology open = freshCard();
  open.group(6).use = GroupUse::kOpen;
  EXPECT_EQ(judged(open, 8, {}), "05:00.0 in-use");
}

TEST(GuardsOfVfs, NoOverrideHasFunctionsEnded) {
  EXPECT_EQ(judged(networkCard(), 8, {.overrides = {{Guard::kSriov, std::nullopt}}}),
            "05:00.0 sriov");
  EXPECT_EQ(judged(networkCard(), 2, {.allocated = Allocated::kYes}), "") << "so already";
}

}  // namespace
}  // namespace vfiogate
