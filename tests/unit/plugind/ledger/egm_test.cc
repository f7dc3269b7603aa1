// GPUs' extended memory (EGM): a region's node goes along with all of its GPUs, and with no part of
// them.

#include <gmock/gmock.h>

#include "plugind/core/ledger/locality.h"
#include "plugind/core/ledger/state/fingerprint.h"
#include "plugind/core/status/explanation.h"
#include "tests/unit/plugind/ledger/ledger_case.h"

namespace vfiogate::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr const char* kGrace1 = "0008:01:00.0";
constexpr const char* kGrace2 = "0009:01:00.0";
constexpr const char* kGrace3 = "0018:01:00.0";

/// Two sockets: the first with two GPUs, the second with one.
class EgmCase : public LedgerCase {
protected:
  EgmCase() {
    std::uint32_t group = 80;
    for (const char* gpu : {kGrace1, kGrace2, kGrace3}) {
      node.hardware.add(gpu, group++).device = std::uint16_t{0x2941};
    }
    node.hardware.snapshot().egm = {{4, {at(kGrace1), at(kGrace2)}}, {5, {at(kGrace3)}}};
    node.offer("device=2941", "gb200");
    node.start();
  }

  std::vector<std::string> nodesOf(const std::vector<std::string>& ids) {
    const CallId call = node.ask("gb200", ids);
    EXPECT_EQ(node.outcome(call), "granted");
    return node.answers.at(call).response->nodes;
  }
};

TEST_F(EgmCase, I1_TheMemoryOfARegionGoesAlongWithAllOfItsGpus) {
  EXPECT_THAT(nodesOf({kGrace1, kGrace2}),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/80", "/dev/vfio/81", "/dev/egm4"));
  EXPECT_THAT(nodesOf({kGrace3}), ElementsAre("/dev/vfio/vfio", "/dev/vfio/82", "/dev/egm5"));
}

TEST_F(EgmCase, I1_NobodyWithAPartOfTheGpusGetsIt) {
  EXPECT_THAT(nodesOf({kGrace1}), Not(Contains("/dev/egm4")));
  EXPECT_THAT(nodesOf({kGrace2, kGrace3}),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/81", "/dev/vfio/82", "/dev/egm5"));
}

TEST_F(EgmCase, I1_AnotherRegionOfThatNumberIsNotStartedWith) {
  const std::vector<std::string> both{kGrace1, kGrace2};
  const CallId call = node.ask("gb200", both);
  node.record("p1", "gb200", {kGrace1, kGrace2});
  node.entries.back().allocated =
      node.answers.at(call).response->annotations.at(kAllocatedAnnotation);
  node.write();
  EXPECT_EQ(node.preStart("gb200", both), "done");
  node.hardware.snapshot().egm = {{4, {at(kGrace3)}}, {5, {at(kGrace1), at(kGrace2)}}};
  node.see();
  EXPECT_EQ(node.preStart("gb200", both), "stale-nodes");
}

TEST_F(EgmCase, AnotherNumberIsNothingToWhoeverDoesNotHaveTheMemory) {
  const CallId call = node.ask("gb200", {kGrace1});
  node.record("p1", "gb200", {kGrace1});
  node.entries.back().allocated =
      node.answers.at(call).response->annotations.at(kAllocatedAnnotation);
  node.write();
  node.hardware.snapshot().egm = {{4, {at(kGrace3)}}, {5, {at(kGrace1), at(kGrace2)}}};
  node.see();
  EXPECT_EQ(node.preStart("gb200", {kGrace1}), "done");
}

TEST_F(EgmCase, ByNameTheMemoryIsANodeAllTheSame) {
  node.settings.resources.back().allocation.injectCdi = true;
  node.see();
  EXPECT_THAT(nodesOf({kGrace1, kGrace2}), ElementsAre("/dev/egm4"));
}

TEST_F(EgmCase, WhatIsPreferredCompletesARegion) {
  const Locality locality = localityOf(node.ledger.state(), resource("gb200"), node.now.instant);
  EXPECT_EQ(locality.candidates.at(kGrace2).egmRegion, 4U);
  const auto pick = [&locality](std::size_t size) {
    return preferredDevices(
        {.available = {kGrace1, kGrace2, kGrace3}, .mustInclude = {}, .size = size},
        locality.candidates);
  };
  EXPECT_THAT(pick(1), ElementsAre(kGrace3));
  EXPECT_THAT(pick(2), ElementsAre(kGrace1, kGrace2));
}

TEST_F(EgmCase, IsExplainedWithWhatKeepsItFromGoingAlong) {
  const auto lastLine = [this](const char* gpu) {
    return explain(node.settings, node.ledger.state(), at(gpu)).lines.back();
  };
  EXPECT_EQ(lastLine(kA), "the kubelet sees it, Healthy");
  EXPECT_EQ(lastLine(kGrace1),
            "/dev/egm4 goes along with all of its GPUs: 0008:01:00.0, 0009:01:00.0");
  PciDevice& other = node.hardware.device(kGrace2);
  other.driver = "nvidia";
  other.vfioDev.reset();
  node.see();
  EXPECT_EQ(lastLine(kGrace1),
            "/dev/egm4 goes along with all of its GPUs: 0008:01:00.0, 0009:01:00.0; 0009:01:00.0: "
            "bound to nvidia, not to a VFIO driver: bind its group to vfio-pci");
  node.hardware.remove(kGrace2);
  node.see();
  EXPECT_EQ(lastLine(kGrace1),
            "/dev/egm4 goes along with all of its GPUs: 0008:01:00.0, 0009:01:00.0; 0009:01:00.0 "
            "is gone");
}

}  // namespace
}  // namespace vfiogate::test
