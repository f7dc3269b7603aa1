// Whoever is asked why hardware is not offered gives the same reason at the same moment: privd
// list, privd doctor, plugind status, explain and probe, the journal, the metrics, and the refusal
// that a pod gets. Each of them has its code and words from ipc/types/viability.h.

#include "privd/cli/base/device_state.h"
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
      {Obstacle::kMediatedParent,
       [](Snapshot& s) {
         unbind(a(s), "nvidia", 1);
         a(s).mediated = {*Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001")};
       }},
      {Obstacle::kNoVgpuType,
       [](Snapshot& s) {
         a(s).driver = "nvidia";
         a(s).vgpuType = 0;
       }},
      {Obstacle::kHostDriver, [](Snapshot& s) { unbind(a(s), "nouveau", 1); }},
      {Obstacle::kNoDriver, [](Snapshot& s) { unbind(a(s), "", 0); }},
      {Obstacle::kMemberOnHost,
       [](Snapshot& s) { unbind(s.devices.at(test::at(kB)), "snd_hda_intel", 1); }},
      {Obstacle::kMemberStuck, [](Snapshot& s) { unbind(s.devices.at(test::at(kB)), "", 1); }},
      {Obstacle::kHasVfs, [](Snapshot& s) { a(s).virtualFunctions = 2; }},
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

/// What `privd doctor` says of a device itself; of other obstacles it tells by group, or host.
bool isToldByDoctor(const std::string& code) {
  const std::set<std::string> told{"unreadable", "not-answering",     "being-unbound", "no-node",
                                   "binding",    "operator-excluded", "write-stuck"};
  return told.contains(code);
}

void expectDoctor(const Snapshot& hardware, const std::string& code, const std::string& words) {
  std::vector<Finding> found;
  for (const Finding& finding : examine({.hardware = {"/sys", hardware, 0}})) {
    if (finding.check == Check::kDeviceState && finding.subject == kA) found.push_back(finding);
  }
  ASSERT_EQ(found.size(), isToldByDoctor(code) ? 1U : 0U) << "privd doctor";
  if (found.empty()) return;
  EXPECT_EQ(found.front().evidence, "docs/reasons.md: " + code) << "privd doctor";
  EXPECT_EQ(found.front().what, words) << "privd doctor";
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

  expectDoctor(hardware, code, words);
}

INSTANTIATE_TEST_SUITE_P(EachObstacle, HardwareReasons, testing::ValuesIn(rows()),
                         [](const auto& row) {
                           std::string name(reasonCode(row.param.obstacle));
                           std::erase(name, '-');
                           return name;
                         });

// plugind's own words for it: offer_reasons_agree_test.
class ReasonOfAChange : public test::Reasons {};

TEST_F(ReasonOfAChange, IsToldByListAndDoctorWhateverItIsAboutToMend) {
  for (const char* driver : {"vfio-pci", "nouveau", ""}) {
    Snapshot hardware = node.hardware.snapshot();
    a(hardware).driver = driver;
    group(hardware).binding.busy = true;
    EXPECT_EQ(stateOf(hardware, a(hardware)), "binding") << "privd list, " << driver;
    expectDoctor(hardware, "binding", whyOf(hardware, a(hardware)));
  }
}

TEST(ReasonsOf, EachObstacleHasARow) {
  std::set<Obstacle> tried{Obstacle::kNone};
  for (const Row& row : rows()) tried.insert(row.obstacle);
  EXPECT_EQ(tried.size(), static_cast<std::size_t>(Obstacle::kNoNode) + 1);
}

}  // namespace
}  // namespace vfiogate
