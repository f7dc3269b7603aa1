// Whoever is asked why hardware is not offered gives the same reason at the same moment: privd
// list, privd doctor, plugind status, explain and probe, the journal, the metrics, and the refusal
// that a pod gets. Each of them has its code and words from ipc/types/viability.h.

#include "tests/unit/plugind/reasons_case.h"

#include <functional>
#include <set>

namespace vfiogate {
namespace {

using test::kA;
using test::kB;
using testing::HasSubstr;

PciDevice& a(Snapshot& hardware) {
  return hardware.devices.at(test::at(kA));
}
IommuGroup& group(Snapshot& hardware) {
  return hardware.groups.at(IommuGroupId(31));
}
void unbind(PciDevice& device, const char* driver, std::uint32_t users) {
  device.driver = driver;
  device.vfioDev.reset();
  device.cdevNode = false;
  device.enableCount = users;
}

struct Row {
  Obstacle obstacle;
  std::function<void(Snapshot&)> change;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << reasonCode(row.obstacle);
}
/// One for each obstacle that plugind's resources can meet.
const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {Obstacle::kNoGroup,
       [](Snapshot& s) {
         a(s).group.reset();
         std::erase(group(s).members, test::at(kA));
       }},
      {Obstacle::kNoIommu, [](Snapshot& s) { group(s).noIommu = true; }},
      {Obstacle::kNotAnswering, [](Snapshot& s) { a(s).answers = false; }},
      {Obstacle::kOperatorExcluded, [](Snapshot& s) { group(s).binding.excluded = true; }},
      {Obstacle::kWriteStuck, [](Snapshot& s) { group(s).binding.stuck = true; }},
      {Obstacle::kBeingUnbound, [](Snapshot& s) { unbind(a(s), "", 1); }},
      {Obstacle::kHostDriver, [](Snapshot& s) { unbind(a(s), "nouveau", 1); }},
      {Obstacle::kNoDriver, [](Snapshot& s) { unbind(a(s), "", 0); }},
      {Obstacle::kMemberOnHost,
       [](Snapshot& s) { unbind(s.devices.at(test::at(kB)), "snd_hda_intel", 1); }},
      {Obstacle::kMemberStuck, [](Snapshot& s) { unbind(s.devices.at(test::at(kB)), "", 1); }},
      {Obstacle::kNoNode,
       [](Snapshot& s) {
         group(s).groupNode = false;
         a(s).cdevNode = false;
       }},
      {Obstacle::kBridge,
       [](Snapshot& s) {
         a(s).headerType = std::uint8_t{1};
         unbind(a(s), "pcieport", 1);
       }},
      {Obstacle::kUnreadable, [](Snapshot& s) { a(s).vendor.reset(); }},
      {Obstacle::kPlatform,
       [](Snapshot& s) {
         a(s).classCode = 0x060000;
         unbind(a(s), "", 0);
       }},
  };
  return all;
}

class HardwareReasons : public test::Reasons, public testing::WithParamInterface<Row> {};

TEST_P(HardwareReasons, AreTheSameWhoeverIsAsked) {
  onVfio();
  node.settings.resources[0].select = *Selector::parse(std::string("address=") + kA);
  node.start();
  Snapshot hardware = node.hardware.snapshot();
  GetParam().change(hardware);
  node.hardware.snapshot() = hardware;
  see(hardware);
  const std::string code(reasonCode(GetParam().obstacle));
  const Viability judged = viability(hardware, test::at(kA));
  const std::string words = explain(hardware, test::at(kA), judged);

  EXPECT_EQ(stateOf(hardware, a(hardware)), code) << "privd list";

  expectAgreed(kA, code, words);
  if (!statusOf(node.ledger.state(), {}).leftOut.contains(test::at(kA))) {
    EXPECT_TRUE(withheldFor(code)) << "the journal";
    node.pass(std::chrono::seconds(11));
    const CallId call = node.ask("gpu", {kA});
    EXPECT_EQ(node.outcome(call), "not-viable:" + code) << "what a pod is told";
    EXPECT_THAT(node.text(call), HasSubstr(words)) << "what a pod is told";
  }

  for (const Finding& finding : examine({.hardware = {"/sys", hardware, 0}})) {
    if (finding.check != Check::kDeviceState || finding.subject != kA) continue;
    EXPECT_THAT(finding.evidence, HasSubstr(code)) << "privd doctor";
    EXPECT_EQ(finding.what, words) << "privd doctor";
  }
}

INSTANTIATE_TEST_SUITE_P(EachObstacle, HardwareReasons, testing::ValuesIn(rows()),
                         [](const auto& row) {
                           std::string name(reasonCode(row.param.obstacle));
                           std::erase(name, '-');
                           return name;
                         });

TEST(ReasonsOf, EachObstacleHasARow) {
  std::set<Obstacle> tried{Obstacle::kNone};
  for (const Row& row : rows()) tried.insert(row.obstacle);
  EXPECT_EQ(tried.size(), static_cast<std::size_t>(Obstacle::kNoNode) + 1);
}

}  // namespace
}  // namespace vfiogate
