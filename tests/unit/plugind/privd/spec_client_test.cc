// What plugind says of a spec to privd's gate, and makes of its answer.

#include "plugind/privd/spec_client.h"

#include "tests/support/hardware.h"
#include "tests/support/played/claim_specs.h"

#include <gmock/gmock.h>

#include <cerrno>

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using testing::ElementsAre;
using testing::HasSubstr;

const StaticSpec kGpus{
    .resource = "vfiogate.dev/gpu",
    .wholeGroups = true,
    .devices = {at("0000:01:00.0"), at("0000:01:00.1"), at("0000:02:00.0"), at("0000:09:00.0")}};

Snapshot hardware() {
  Hardware hardware;
  hardware.add("0000:01:00.0", 12);
  hardware.add("0000:01:00.1", 12);
  hardware.add("0000:02:00.0", 9);
  return hardware.snapshot();
}

gate::Answer answered(gate::Code code, std::uint16_t detail = 0) {
  return {.code = code, .detail = detail, .words = {}, .outcome = {}};
}

TEST(SpecClient, NamesEachSetOfNodesOnceAndLeavesOutWhatIsNotReached) {
  const StaticSpecText text = textOf(kGpus, hardware());
  ASSERT_EQ(text.nodeSets.size(), 2U);
  EXPECT_THAT(pathsOf(text.nodeSets[0]), ElementsAre("/dev/vfio/vfio", "/dev/vfio/12"));
  EXPECT_THAT(pathsOf(text.nodeSets[1]), ElementsAre("/dev/vfio/vfio", "/dev/vfio/9"));
  using Device = StaticSpecText::Device;
  EXPECT_THAT(text.devices,
              ElementsAre(Device{at("0000:01:00.0"), 0}, Device{at("0000:01:00.1"), 0},
                          Device{at("0000:02:00.0"), 1}));
}

TEST(SpecClient, SaysOfAClaimWhichDeviceHasNoNode) {
  const auto spec = test::claimSpec({"0000:02:00.0", "0000:09:00.0"});
  EXPECT_EQ(textOf(spec, hardware()).error(), at("0000:09:00.0"));
  const auto text = textOf(test::claimSpec({"0000:02:00.0"}), hardware());
  ASSERT_TRUE(text);
  EXPECT_THAT(pathsOf(text->nodes.at(0)), ElementsAre("/dev/vfio/vfio", "/dev/vfio/9"));
}

TEST(SpecClient, I1_AClaimWithAllGpusOfARegionHasItsMemoryAtEachOfThem) {
  Snapshot grace = hardware();
  grace.egm = {{4, {at("0000:01:00.0"), at("0000:02:00.0")}}};
  const auto whole = textOf(test::claimSpec({"0000:01:00.0", "0000:02:00.0"}), grace);
  ASSERT_TRUE(whole);
  EXPECT_THAT(pathsOf(whole->nodes.at(0)),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/12", "/dev/egm4"));
  EXPECT_THAT(pathsOf(whole->nodes.at(1)),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/9", "/dev/egm4"));
  const auto part = textOf(test::claimSpec({"0000:02:00.0"}), grace);
  ASSERT_TRUE(part);
  EXPECT_THAT(pathsOf(part->nodes.at(0)), ElementsAre("/dev/vfio/vfio", "/dev/vfio/9"));
}

TEST(SpecClient, ASpecThatIsWrittenNamesTheNodesThatWereAskedFor) {
  const StaticSpecText text = textOf(kGpus, hardware());
  const SpecState state = stateOf(text, answered(gate::Code::kDone));
  EXPECT_EQ(state.trouble, "");
  EXPECT_EQ(state.nodes.size(), 3U);
  EXPECT_THAT(state.nodes.at(at("0000:02:00.0")), ElementsAre("/dev/vfio/vfio", "/dev/vfio/9"));
}

TEST(SpecClient, SaysWhatWouldHelp) {
  const StaticSpecText text = textOf(kGpus, hardware());
  const auto trouble = [&](gate::Code code, std::uint16_t detail = 0) {
    const SpecState state = stateOf(text, answered(code, detail));
    EXPECT_TRUE(state.nodes.empty());
    return state.trouble;
  };
  EXPECT_THAT(trouble(gate::Code::kFailed, ENOSPC), HasSubstr("No space left on device"));
  EXPECT_THAT(trouble(gate::Code::kBadName), HasSubstr("naming: pci_vendor_device"));
  EXPECT_THAT(trouble(gate::Code::kForeign), HasSubstr("--resource-prefix"));
  EXPECT_THAT(trouble(gate::Code::kDenied), HasSubstr("add cdi to its --plugind-rights"));
}

}  // namespace
}  // namespace vfiogate
