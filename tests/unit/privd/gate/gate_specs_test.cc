// CDI specs as plugind has the gate write them.

#include "tests/unit/privd/gate/served_gate.h"

#include "ipc/types/static_spec.h"
#include "privd/cdi/cdi_spec.h"

#include <cerrno>
#include <functional>

namespace vfiogate::test {
namespace {

using gate::Code;
using gate::Remove;
using testing::ElementsAre;
using testing::HasSubstr;

class GateSpecsTest : public ServedGate {
protected:
  ~GateSpecsTest() noexcept override = default;

  static StaticSpecText staticText(const std::string& resource) {
    return {.resource = resource,
            .nodeSets = {{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 8}}},
            .devices = {{*Bdf::parse("0000:02:00.0"), 0}}};
  }
  static ClaimSpecText claimText(const std::string& uid = kClaimUid) {
    return {.spec = claimSpec({"0000:02:00.0"}, uid),
            .nodes = {{{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, 8}}}};
  }
  Answered put(const StaticSpecText& text) { return ask(plugind_, gate::Put{text}); }
  Answered put(const ClaimSpecText& text) { return ask(plugind_, gate::Put{text}); }
  Answered keepOnlyThose() { return ask(plugind_, Remove{Remove::What::kOtherStatic, ""}); }
  Answered unlink(const std::string& uid) {
    return ask(plugind_, Remove{Remove::What::kClaim, uid});
  }
  Answered open(const std::string& uid) {
    return ask(plugind_, gate::Open{gate::Open::File::kClaimSpec, uid});
  }
  gate::ClaimUids listed(const std::string& after = "") {
    const auto answered = ask(plugind_, gate::List{gate::List::What::kClaimSpecs, after});
    return std::get<gate::ClaimUids>(answered.answer.outcome);
  }
  bool onDisk(const std::string& resource) {
    return std::filesystem::exists(dir_ / ("cdi/" + specFileName(*ResourceName::parse(resource))));
  }
  /// What is wrong with it, in words.
  std::string bad(const std::function<void(ClaimSpec&)>& spoil) {
    ClaimSpecText text = claimText();
    spoil(text.spec);
    const auto answered = put(text);
    return answered.is(Code::kBad) ? answered.answer.words : "not bad";
  }

  PlayedPlugind plugind_ = entered();
};

TEST_F(GateSpecsTest, OfResourcesAreWrittenAndTheOthersGoWithTheEndOfTheDeclaration) {
  EXPECT_TRUE(put(staticText("vfiogate.dev/gpu")).is(Code::kDone));
  EXPECT_TRUE(put(staticText("vfiogate.dev/nic")).is(Code::kDone));
  EXPECT_TRUE(keepOnlyThose().is(Code::kDone));
  EXPECT_TRUE(put(staticText("vfiogate.dev/nic")).is(Code::kDone));
  EXPECT_TRUE(onDisk("vfiogate.dev/gpu"));
  EXPECT_TRUE(keepOnlyThose().is(Code::kDone));
  EXPECT_FALSE(onDisk("vfiogate.dev/gpu"));
  EXPECT_TRUE(onDisk("vfiogate.dev/nic"));
}

TEST_F(GateSpecsTest, SayWhyTheyAreNotWritten) {
  EXPECT_TRUE(put(staticText("gpu")).is(Code::kBadName));
  EXPECT_TRUE(put(staticText("vfiogate.dev/1")).is(Code::kBadName));
  EXPECT_TRUE(put(staticText("nvidia.com/gpu")).is(Code::kForeign));
  EXPECT_EQ(filesIn("cdi"), 0U);
  std::filesystem::remove(dir_ / "cdi");
  const auto answered = put(staticText("vfiogate.dev/gpu"));
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, ENOENT);
}

TEST_F(GateSpecsTest, ADeclarationThatWasNotBroughtToItsEndIsNone) {
  put(staticText("vfiogate.dev/gpu"));
  keepOnlyThose();
  put(staticText("vfiogate.dev/stale"));
  plugind_.lock = nullptr;
  plugind_ = entered();
  put(staticText("vfiogate.dev/gpu"));
  keepOnlyThose();
  EXPECT_TRUE(onDisk("vfiogate.dev/gpu"));
  EXPECT_FALSE(onDisk("vfiogate.dev/stale"));
}

TEST_F(GateSpecsTest, I10_SixThousandFourHundredResourcesAreNoMoreFilesThanThereMayBe) {
  for (int i = 0; i < 6400; ++i) {
    const bool fits = i < static_cast<int>(CdiStore::kMostFiles);
    const auto answered = put(staticText("vfiogate.dev/r" + std::to_string(i)));
    ASSERT_TRUE(answered.is(fits ? Code::kDone : Code::kFailed)) << i;
    ASSERT_EQ(answered.answer.detail, fits ? 0 : EDQUOT);
  }
  EXPECT_EQ(filesIn("cdi"), CdiStore::kMostFiles);
}

// 4,096 devices that all name 2,050 nodes fit into one packet.
TEST_F(GateSpecsTest, I10_NodesThatManyDevicesNameAreCountedOften) {
  StaticSpecText text{.resource = "vfiogate.dev/gpu", .nodeSets = {{}}, .devices = {}};
  for (std::uint32_t i = 0; i < kMostSpecNodes; ++i) {
    text.nodeSets[0].push_back({SpecNode::Kind::kGroup, i});
  }
  for (std::uint32_t i = 0; i < kMostSpecDevices; ++i) {
    text.devices.push_back({*Bdf::make(i, 0, 0, 0), 0});
  }
  EXPECT_THAT(put(text).answer.words, HasSubstr("32768 nodes"));
  EXPECT_EQ(filesIn("cdi"), 0U);
}

TEST_F(GateSpecsTest, TheLargestSpecFitsIntoARequest) {
  StaticSpecText text{.resource = "vfiogate.dev/gpu", .nodeSets = {}, .devices = {}};
  for (std::uint32_t i = 0; i < kMostSpecDevices; ++i) {
    text.nodeSets.push_back({{SpecNode::Kind::kContainer, 0},
                             {SpecNode::Kind::kGroup, i},
                             {SpecNode::Kind::kIommufd, 0},
                             {SpecNode::Kind::kDevice, i}});
    text.devices.push_back({*Bdf::make(i, 0, 0, 0), static_cast<std::uint16_t>(i)});
  }
  EXPECT_TRUE(put(text).is(Code::kDone));
}

TEST_F(GateSpecsTest, OfClaimsAreWrittenReadAndUnlinked) {
  ClaimSpecText text = claimText();
  text.spec.metadata = true;
  ASSERT_TRUE(put(text).is(Code::kDone));
  EXPECT_THAT(listed().uids, ElementsAre(kClaimUid));
  const auto opened = open(kClaimUid);
  ASSERT_TRUE(opened.is(Code::kDone));
  EXPECT_THAT(textOf(opened.descriptor()), HasSubstr("=ml/train;metadata;;"));
  EXPECT_TRUE(unlink(kClaimUid).is(Code::kDone));
  EXPECT_EQ(filesIn("cdi") + filesIn("metadata"), 0U);
  EXPECT_TRUE(unlink(kClaimUid).is(Code::kDone));
  EXPECT_TRUE(open(kClaimUid).is(Code::kNotYet));
}

TEST_F(GateSpecsTest, OfClaimsAreListedByTheirUids) {
  for (const unsigned number : {2U, 1U, 3U}) put(claimText(claimUid(number)));
  EXPECT_THAT(listed().uids, ElementsAre(claimUid(1), claimUid(2), claimUid(3)));
  EXPECT_THAT(listed(claimUid(2)).uids, ElementsAre(claimUid(3)));
  EXPECT_FALSE(listed().more);
}

TEST_F(GateSpecsTest, OutliveTheConnection) {
  put(claimText());
  put(staticText("vfiogate.dev/gpu"));
  plugind_.socket = nullptr;
  EXPECT_FALSE(turn());
  EXPECT_EQ(filesIn("cdi"), 2U);
}

TEST_F(GateSpecsTest, I7_AreDeniedWithoutTheRight) {
  start({.kubelet = true});
  plugind_.lock = nullptr;
  plugind_ = entered();
  EXPECT_TRUE(put(staticText("vfiogate.dev/gpu")).is(Code::kDenied));
  EXPECT_TRUE(put(claimText()).is(Code::kDenied));
  EXPECT_TRUE(unlink(kClaimUid).is(Code::kDenied));
  EXPECT_TRUE(keepOnlyThose().is(Code::kDenied));
  EXPECT_TRUE(open(kClaimUid).is(Code::kDenied));
  EXPECT_TRUE(ask(plugind_, gate::List{gate::List::What::kClaimSpecs, ""}).is(Code::kDenied));
  EXPECT_EQ(filesIn("cdi") + filesIn("metadata"), 0U);
}

TEST_F(GateSpecsTest, AClaimThatCannotBeWrittenIsAnErrno) {
  std::filesystem::remove(dir_ / "cdi");
  const auto answered = put(claimText());
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, ENOENT);
}

// What is not bad is written; the channel, which all else hangs on, holds in any case.
TEST_F(GateSpecsTest, I7_HostileNamesAreBadWithThePartAndWriteNothing) {
  const std::string nul("train\0x", 7);
  const std::vector<std::string> names{
      "../../../etc", "a\nb", "a\"b", "a\\b", std::string(500, 'a'), nul, "a;b",
      "a b",          "\xff", ".",    ""};
  for (const std::string& name : names) {
    EXPECT_THAT(bad([&](auto& spec) { spec.name = name; }), HasSubstr("name"));
    EXPECT_THAT(bad([&](auto& spec) { spec.uid = name; }), HasSubstr("uid"));
    EXPECT_THAT(bad([&](auto& spec) { spec.claimNamespace = name; }), HasSubstr("claimNamespace"));
    EXPECT_THAT(bad([&](auto& spec) { spec.driver = name; }), HasSubstr("driver"));
    EXPECT_THAT(bad([&](auto& spec) { spec.devices[0].request = name; }), HasSubstr("request"));
    EXPECT_THAT(bad([&](auto& spec) { spec.devices[0].resource = name; }), HasSubstr("resource"));
    if (!name.empty()) {
      EXPECT_THAT(bad([&](auto& spec) { spec.podClaimName = name; }), HasSubstr("podClaimName"));
      EXPECT_THAT(bad([&](auto& spec) { spec.pool = name; }), HasSubstr("pool"));
    }
    if (name.size() <= gate::kLongestUid) {
      EXPECT_TRUE(unlink(name).is(Code::kBad)) << name;
      EXPECT_TRUE(open(name).is(Code::kBad)) << name;
    }
  }
  EXPECT_THAT(bad([](auto& spec) { spec.driver = "gpu.nvidia.com"; }), HasSubstr("--dra-driver"));
  EXPECT_EQ(filesIn("cdi") + filesIn("metadata"), 0U);
  EXPECT_TRUE(put(claimText()).is(Code::kDone));
}

}  // namespace
}  // namespace vfiogate::test
