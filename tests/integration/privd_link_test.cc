// plugind's end of the privilege line against a played privd: what each call brings, and what it
// says while privd is away.

#include "tests/integration/privd_link_case.h"

#include "ipc/codec/limits.h"
#include "plugind/dra/claims/claim_record.h"
#include "tests/support/played/claim_specs.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <fstream>

namespace vfiogate::test {
namespace {

TEST_F(PrivdLinkTest, HoldsAndDropsGroups) {
  startPrivd();
  EXPECT_EQ(await(link().allocate(IommuGroupId(31), "ref=7f3a")), Told::kDone);
  EXPECT_EQ(await(link().allocate(IommuGroupId(31), "ref=7f3a")), Told::kDone);
  EXPECT_EQ(privd_->held(), std::set{IommuGroupId(31)});
  EXPECT_EQ(await(link().allocate(IommuGroupId(99), "ref=7f3a")), Told::kFailed);
  EXPECT_EQ(await(link().adopted()), Told::kDone);
  EXPECT_EQ(privd_->adoptions(), 1U);
  EXPECT_EQ(await(link().release(IommuGroupId(31))), Told::kDone);
  EXPECT_EQ(privd_->held().size(), 0U);
}

// Both at once, as the state loop says them: the reading is of after the record.
TEST_F(PrivdLinkTest, I1_ARereadComesAfterTheRecordAndSaysWhetherItIsOnFile) {
  startPrivd();
  privd_->makeBusy(10);
  auto told = link().allocate(IommuGroupId(31), "ref=7f3a");
  auto reading = link().reread(IommuGroupId(31));
  ASSERT_TRUE(until([this] { return privd_->rereads() > 0; }));
  EXPECT_EQ(privd_->held(), std::set{IommuGroupId(31)}) << "it was reread before";
  EXPECT_TRUE(await(kj::mv(reading)).onFile);
  EXPECT_EQ(await(kj::mv(told)), Told::kDone);
  privd_->makeBusy(1000);
  told = link().allocate(IommuGroupId(31), "ref=7f3b");
  EXPECT_FALSE(await(link().reread(IommuGroupId(31))).onFile) << "busy for all of its tries";
  privd_->makeBusy(0);
  privd_->failRecords();
  told = link().allocate(IommuGroupId(32), "ref=7f3c");
  EXPECT_FALSE(await(link().reread(IommuGroupId(32))).onFile);
}

// A note is renewed when the pod's name is known, which may be in the middle of an Allocate.
TEST_F(PrivdLinkTest, ARereadWaitsForANoteThatIsRenewedMeanwhile) {
  startPrivd();
  EXPECT_EQ(await(link().allocate(IommuGroupId(31), "ref=7f3a")), Told::kDone);
  auto reading = link().reread(IommuGroupId(31));
  io_.waitScope.poll();  // it is asked for
  privd_->makeBusy(3);
  auto told = link().allocate(IommuGroupId(31), "ref=7f3a pod=named");
  EXPECT_TRUE(await(kj::mv(reading)).onFile);
  EXPECT_EQ(await(kj::mv(told)), Told::kDone);
}

TEST_F(PrivdLinkTest, HasClaimsSpecsWrittenAndUnlinked) {
  startPrivd();
  ClaimSpec spec = claimSpec({"0000:65:00.0", "0000:66:00.0"});
  spec.devices[0].hands.insert(spec.devices[1].address);
  spec.devices[1].backend = Backend::kBoth;
  spec.devices[1].request = "nic";
  spec.metadata = true;
  spec.podClaimName = "cards";
  const auto written = await(link().writeClaimSpec(spec));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->size(), 2U);
  EXPECT_EQ(written->back(), "vfio.vfiogate.dev/claim=" + kClaimUid + "-0000-66-00-0");
  EXPECT_EQ(privd_->claimSpecs(), (std::map<std::string, ClaimSpec>{{kClaimUid, spec}}));
  privd_->setClaimTexts({"x"});
  const auto texts = await(link().claimSpecTexts());
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->size(), 2U);
  EXPECT_EQ(*readClaimSpec(texts->front()), spec);
  EXPECT_EQ(texts->back(), "x");
  EXPECT_TRUE(await(link().unlinkClaimSpec(kClaimUid)));
  EXPECT_TRUE(privd_->claimSpecs().empty());
}

TEST_F(PrivdLinkTest, SaysWhyAClaimsSpecIsNotWrittenAndWhetherItMayBeLater) {
  const auto away = await(link().writeClaimSpec(claimSpec()));
  ASSERT_FALSE(away);
  EXPECT_TRUE(away.error().passing);
  EXPECT_TRUE(await(link().unlinkClaimSpec(kClaimUid)).error().passing);
  EXPECT_TRUE(await(link().claimSpecTexts()).error().passing);
  startPrivd();
  ClaimSpec foreign = claimSpec();
  foreign.driver = "gpu.nvidia.com";
  foreign.devices = {claimDevice("0000:65:00.0")};
  const auto bad = await(link().writeClaimSpec(foreign));
  ASSERT_FALSE(bad);
  EXPECT_FALSE(bad.error().passing);
  EXPECT_NE(bad.error().why.find("driver"), std::string::npos) << bad.error().why;
  const auto unreachable = await(link().writeClaimSpec(claimSpec({"0000:09:00.0"})));
  ASSERT_FALSE(unreachable);
  EXPECT_TRUE(unreachable.error().passing);
  EXPECT_NE(unreachable.error().why.find("0000:09:00.0"), std::string::npos);
  privd_->failClaimSpecs(ENOSPC);
  const auto full = await(link().writeClaimSpec(claimSpec({"0000:65:00.0"})));
  ASSERT_FALSE(full);
  EXPECT_TRUE(full.error().passing);
  EXPECT_NE(full.error().why.find("No space left"), std::string::npos) << full.error().why;
  EXPECT_TRUE(await(link().unlinkClaimSpec(kClaimUid)).error().passing);
}

TEST_F(PrivdLinkTest, HandsTheDriversSocketsOver) {
  EXPECT_FALSE(await(link().listenForDra(kDraDriver, DraSocket::kService)));
  startPrivd();
  for (const auto socket : {DraSocket::kService, DraSocket::kRegistration}) {
    const auto made = await(link().listenForDra(kDraDriver, socket));
    ASSERT_TRUE(made);
    ASSERT_TRUE(dialAt(made->endpoint.c_str())) << made->endpoint;
    EXPECT_TRUE(acceptFrom(made->listener) != nullptr);
  }
  const auto foreign = await(link().listenForDra("gpu.nvidia.com", DraSocket::kService));
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().why.find("--dra-driver"), std::string::npos) << foreign.error().why;
}

TEST_F(PrivdLinkTest, DropsAGroupThatLeftWhileItWasHeld) {
  startPrivd();
  ASSERT_EQ(await(link().allocate(IommuGroupId(31), "ref=7f3a")), Told::kDone);
  events_.there = false;
  privd_->setHardware({});
  ASSERT_TRUE(until([this] { return events_.there; }));
  EXPECT_EQ(await(link().release(IommuGroupId(31))), Told::kDone);
  EXPECT_EQ(privd_->held().size(), 0U);
}

TEST_F(PrivdLinkTest, I3_ABindIsDoneWhenTheHardwareThatItLeftWasSeen) {
  startPrivd();
  EXPECT_EQ(events_.right, RightToBind::kGiven);
  Hardware hardware;
  hardware.add("0000:65:00.0", 31).driver = "nvidia";
  hardware.device("0000:65:00.0").vfioDev.reset();
  privd_->setHardware(hardware.snapshot());
  const auto driver = [this] { return events_.seen.devices.at(at("0000:65:00.0")).driver; };
  ASSERT_TRUE(until([&] { return driver() == "nvidia"; }));
  EXPECT_EQ(await(link().bind(IommuGroupId(31))), BindOutcome{});
  EXPECT_EQ(driver(), "vfio-pci");
  EXPECT_EQ(await(link().giveBack(IommuGroupId(31))), BindOutcome{});
  EXPECT_EQ(driver(), "nvidia");
}

TEST_F(PrivdLinkTest, SaysWhyABindFailed) {
  startPrivd();
  const auto answered = [this](FakePrivd::Binding binding) {
    privd_->setBinding(binding);
    return await(link().bind(IommuGroupId(31)));
  };
  using Answer = BindOutcome::Answer;
  EXPECT_EQ(answered(FakePrivd::Binding::kRefused),
            (BindOutcome{Answer::kRefused, "nvme0n1 is mounted at /srv"}));
  EXPECT_EQ(answered(FakePrivd::Binding::kFails), (BindOutcome{Answer::kFailed, "bind: EBUSY"}));
  EXPECT_EQ(answered(FakePrivd::Binding::kStuck),
            (BindOutcome{Answer::kStuck, "unbind has not come back"}));
  EXPECT_EQ(await(link().bind(IommuGroupId(99))).answer, Answer::kVanished);
}

TEST_F(PrivdLinkTest, BindsThatTakeTheirTimeHoldNobodyUp) {
  startPrivd();
  privd_->setBinding(FakePrivd::Binding::kWaits);
  std::vector<kj::Promise<BindOutcome>> binds;
  for (int i = 0; i < 30; ++i) binds.push_back(link().bind(IommuGroupId(i % 2 == 0 ? 31 : 32)));
  ASSERT_TRUE(until([this] { return privd_->binds() == 2; })) << "one a group";
  EXPECT_EQ(await(link().reread(IommuGroupId(31))).answer, GroupReading::Answer::kSeen);
  EXPECT_EQ(privd_->hangUps(), 0U);
  privd_->setBinding(FakePrivd::Binding::kSucceeds);
  for (auto& bind : binds) EXPECT_TRUE(await(kj::mv(bind)).done());
}

TEST_F(PrivdLinkTest, I3_ABindThatPrivdsEndCutOffIsNotDone) {
  startPrivd();
  privd_->setBinding(FakePrivd::Binding::kWaits);
  auto bind = link().bind(IommuGroupId(31));
  ASSERT_TRUE(until([this] { return privd_->binds() == 1; }));
  privd_.reset();
  EXPECT_EQ(await(kj::mv(bind)).answer, BindOutcome::Answer::kPrivdAway);
  EXPECT_FALSE(events_.there) << "its absence is told first";
  EXPECT_EQ(await(link().giveBack(IommuGroupId(31))).answer, BindOutcome::Answer::kPrivdAway);
}

TEST_F(PrivdLinkTest, AGroupIsProbedOnlyWhereNothingShowsItsUse) {
  using Found = binder::Probed::Found;
  using Probe = GroupReading::Probe;
  startPrivd();
  EXPECT_EQ(await(link().rereadAndProbe(IommuGroupId(31))).probe, Probe::kNone) << "it is idle";
  EXPECT_EQ(await(link().rereadAndProbe(IommuGroupId(99))).probe, Probe::kNone) << "not there";
  Hardware blind = twoGroups();
  blind.group(31).use = GroupUse::kBlind;
  blind.group(32).use = GroupUse::kUnknown;
  privd_->setHardware(blind.snapshot());
  EXPECT_EQ(await(link().reread(IommuGroupId(31))).probe, Probe::kNone) << "it may not be";
  EXPECT_EQ(privd_->probes(), 0U);
  EXPECT_EQ(await(link().rereadAndProbe(IommuGroupId(31))).probe, Probe::kIdle);
  privd_->setProbe(Found::kOpen);
  EXPECT_EQ(await(link().rereadAndProbe(IommuGroupId(32))).probe, Probe::kOpen);
  EXPECT_EQ(privd_->probes(), 2U);
}

TEST_F(PrivdLinkTest, SaysWhyAGroupCouldNotBeProbed) {
  using Found = binder::Probed::Found;
  Hardware blind = twoGroups();
  blind.group(31).use = GroupUse::kBlind;
  startPrivd();
  privd_->setHardware(blind.snapshot());
  const auto whyNot = [this]() {
    const GroupReading reading = await(link().rereadAndProbe(IommuGroupId(31)));
    EXPECT_EQ(reading.answer, GroupReading::Answer::kSeen);
    EXPECT_EQ(reading.probe, GroupReading::Probe::kCannot);
    return reading.noProbe;
  };
  privd_->setProbe(Found::kCannot, EPERM);
  EXPECT_EQ(whyNot(), "privd-binder cannot open /dev/vfio/31: Operation not permitted");
  privd_->setProbe(Found::kDenied);
  EXPECT_EQ(whyNot(), "privd's --plugind-rights have neither probe nor bind");
  privd_->setBinder(false);
  ASSERT_TRUE(until([this] { return events_.right == RightToBind::kBinderAway; }));
  EXPECT_EQ(whyNot(), "no privd-binder is here");
}

TEST_F(PrivdLinkTest, ACardsSerialNumberIsAskedOfTheBinder) {
  using Found = binder::SerialTold::Found;
  const Bdf card = *Bdf::parse("0000:01:00.0");
  const auto answer = [&]() {
    const SerialAnswer told = await(link().serialOf(card));
    constexpr std::array kWords{"serial ", "none", "failed: ", "nobody: "};
    return kWords.at(static_cast<std::size_t>(told.found)) + told.text;
  };
  EXPECT_EQ(answer(), "nobody: no privd-binder is here that would read it");
  startPrivd();
  EXPECT_EQ(answer(), "none");
  privd_->setSerial({0, Found::kSerial, 0, "MT2112X01234"});
  EXPECT_EQ(answer(), "serial MT2112X01234");
  privd_->setSerial({0, Found::kDenied, 0, ""});
  EXPECT_EQ(answer(), "nobody: privd's --plugind-rights have neither serial nor bind");
  privd_->setSerial({0, Found::kCannot, EIO, ""});
  EXPECT_EQ(answer(),
            "failed: privd-binder cannot read its vital product data: Input/output error");
  privd_->setSerial({0, Found::kCannot, ETIMEDOUT, ""});
  EXPECT_EQ(answer(), "failed: the card does not answer privd-binder");
  privd_->setSerial({0, Found::kCannot, EBUSY, ""});
  EXPECT_EQ(answer(), "failed: privd-binder waits for cards that do not answer");
  privd_->setBinder(false);
  ASSERT_TRUE(until([this] { return events_.right == RightToBind::kBinderAway; }));
  EXPECT_EQ(answer(), "nobody: no privd-binder is here that would read it");
}

TEST_F(PrivdLinkTest, WithoutABinderTheSessionIsThereAndNothingIsBound) {
  startPrivd(false);
  EXPECT_EQ(events_.right, RightToBind::kBinderAway);
  EXPECT_EQ(away(), std::vector{PrivdRole::kBinder});
  EXPECT_EQ(await(link().bind(IommuGroupId(31))),
            (BindOutcome{BindOutcome::Answer::kPrivdAway, "privd-binder is away"}));
  EXPECT_EQ(await(link().giveBack(IommuGroupId(31))).answer, BindOutcome::Answer::kPrivdAway);
  privd_->setBinder(true);
  EXPECT_TRUE(until([this] { return events_.right == RightToBind::kGiven; }));
  EXPECT_TRUE(away().empty());
  EXPECT_TRUE(await(link().bind(IommuGroupId(31))).done());
}

TEST_F(PrivdLinkTest, I3_ABindThatTheBindersEndCutOffIsNotDoneAndTheSessionStays) {
  startPrivd();
  privd_->setBinding(FakePrivd::Binding::kWaits);
  auto bind = link().bind(IommuGroupId(31));
  ASSERT_TRUE(until([this] { return privd_->binds() == 1; }));
  privd_->setBinder(false);
  EXPECT_EQ(await(kj::mv(bind)),
            (BindOutcome{BindOutcome::Answer::kPrivdAway, "privd-binder is away"}));
  EXPECT_EQ(events_.right, RightToBind::kBinderAway);
  EXPECT_TRUE(events_.there);
  EXPECT_EQ(await(link().reread(IommuGroupId(31))).answer, GroupReading::Answer::kSeen);
  EXPECT_EQ(privd_->hangUps(), 0U);
}

TEST_F(PrivdLinkTest, TellsOfOneHardwareWhatAllThreeSayOfIt) {
  startPrivd();
  const auto binding = [this] { return events_.seen.groups.at(IommuGroupId(31)).binding; };
  EXPECT_EQ(binding(), GroupBinding{});
  Hardware hardware = twoGroups();
  hardware.group(31).binding = {.bindable = true, .excluded = true, .bar = "users: by many"};
  Snapshot told = hardware.snapshot();
  told.sysfsWriting = SysfsWriting::kReadOnly;
  privd_->setHardware(told);
  EXPECT_TRUE(until([&] { return events_.seen == told; }));
  privd_->setBinder(false);
  EXPECT_TRUE(until([&] { return binding() == (GroupBinding{.excluded = true}); }))
      << "what the binder said is not known any more, and what is excluded is";
  EXPECT_EQ(events_.seen.sysfsWriting, SysfsWriting::kUnknown);
}

TEST_F(PrivdLinkTest, WhatIsExcludedIsKnownBeforeTheHardware) {
  Hardware hardware = twoGroups();
  hardware.group(32).binding.excluded = true;
  privd_.emplace(FakePrivd::Setup{.plugindSocket = dir_ / "plugind.sock",
                                  .kubeletDir = deviceDirectory(),
                                  .hardware = hardware.snapshot(),
                                  .hasBinder = false});
  ASSERT_TRUE(until([this] { return events_.there; }));
  EXPECT_TRUE(events_.first.groups.at(IommuGroupId(32)).binding.excluded);
}

TEST_F(PrivdLinkTest, ReadsTheCheckpointWhole) {
  startPrivd();
  const auto absent = await(link().checkpoint());
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().absent);
  const std::string text(300'000, 'x');
  std::ofstream(checkpointPath()) << text;
  auto kubelet = listenAt(deviceDirectory().c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  const auto file = await(link().checkpoint());
  ASSERT_TRUE(file) << file.error().why;
  EXPECT_EQ(file->text, text);
  struct stat status = {};
  ASSERT_EQ(stat(checkpointPath().c_str(), &status), 0);
  EXPECT_EQ(file->written.time_since_epoch().count(),
            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  ASSERT_EQ(stat((deviceDirectory() + "/kubelet.sock").c_str(), &status), 0);
  ASSERT_TRUE(file->kubelet);
  EXPECT_EQ(file->kubelet->inode, status.st_ino);
}

TEST_F(PrivdLinkTest, DialsPodResources) {
  startPrivd();
  const auto absent = await(link().dialPodResources());
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().absent);
  const std::string directory = dir_ / "kubelet/pod-resources";
  std::filesystem::create_directory(directory);
  auto kubelet = listenAt(directory.c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  EXPECT_TRUE(await(link().dialPodResources()));
}

TEST_F(PrivdLinkTest, TellsWhatThereIsOfTheKubeletOnceAndWithEachPrivd) {
  auto kubelet = listenAt(deviceDirectory().c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  std::ofstream(checkpointPath()) << "{}";
  startPrivd();
  EXPECT_EQ(events_.kubelets.size(), 1U);
  EXPECT_EQ(events_.checkpoints, 1U);
  EXPECT_EQ(events_.podResources, 0U);
  std::ofstream(checkpointPath() + ".new") << "{}";
  std::filesystem::rename(checkpointPath() + ".new", checkpointPath());
  EXPECT_TRUE(until([this] { return events_.checkpoints == 2; }));
  EXPECT_EQ(events_.kubelets.size(), 1U);
  privd_.reset();
  ASSERT_TRUE(until([this] { return !events_.there; }));
  startPrivd();
  ASSERT_EQ(events_.kubelets.size(), 2U);
  EXPECT_EQ(events_.kubelets[0], events_.kubelets[1]);
  EXPECT_EQ(events_.checkpoints, 3U);
}

TEST_F(PrivdLinkTest, SaysSoWhilePrivdIsAway) {
  EXPECT_EQ(await(link().allocate(IommuGroupId(31), "ref=7f3a")), Told::kPrivdAway);
  EXPECT_EQ(await(link().release(IommuGroupId(31))), Told::kPrivdAway);
  EXPECT_EQ(await(link().adopted()), Told::kPrivdAway);
  EXPECT_EQ(await(link().checkpoint()).error().why, "privd is away");
  EXPECT_EQ(await(link().dialPodResources()).error().why, "privd is away");
}

TEST_F(PrivdLinkTest, WaitsWhereAnotherPlugindHasTheNode) {
  privd_.emplace(FakePrivd::Setup{.plugindSocket = dir_ / "plugind.sock",
                                  .kubeletDir = deviceDirectory(),
                                  .hardware = {},
                                  .leased = true});
  ASSERT_TRUE(until([this] { return privd_->turnedAway() >= 2; }));
  EXPECT_FALSE(events_.there);
  privd_->setLeased(false);
  EXPECT_TRUE(until([this] { return events_.there; }));
  EXPECT_EQ(privd_->hangUps(), 0U);
}

}  // namespace
}  // namespace vfiogate::test
