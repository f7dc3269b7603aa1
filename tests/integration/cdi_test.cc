// Static CDI specs through the two real programs: inject: cdi and kata: true.

#include "tests/integration/cdi_case.h"
#include "tests/support/small_disk.h"

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Cdi, APodGetsNamesThatTheSpecResolves) {
  start("inject: cdi");
  EXPECT_GT(registrationsSeen_, 0);
  EXPECT_EQ(spec()["kind"], kGpu);
  EXPECT_EQ(spec()["cdiVersion"], "0.5.0");
  const auto granted = admit("p1");
  const std::string id = granted.ids.at(0);
  EXPECT_THAT(namesOf(granted), ElementsAre(kGpu + "=" + id));
  EXPECT_THAT(nodesOf(granted), IsEmpty());
  EXPECT_EQ(granted.response.envs().at("PCI_RESOURCE_VFIOGATE_DEV_GPU"), id);
  EXPECT_THAT(granted.response.annotations().at("vfiogate.dev/allocated"), HasSubstr(id));
  EXPECT_THAT(resolveGpu(id),
              ElementsAre("/dev/vfio/vfio", id == kA ? "/dev/vfio/7" : "/dev/vfio/8"));
  EXPECT_EQ(startContainer("p1"), "") << said();
}

// Kata looks for RESOURCE=ID in a static spec when it makes the sandbox.
TEST_F(Cdi, KataHasTheSpecAndTheNodes) {
  start("kata: true");
  const auto granted = admit("p1");
  const std::string id = granted.ids.at(0);
  EXPECT_THAT(namesOf(granted), IsEmpty());
  EXPECT_THAT(nodesOf(granted),
              ElementsAre("/dev/vfio/vfio", id == kA ? "/dev/vfio/7" : "/dev/vfio/8"));
  EXPECT_EQ(resolveGpu(id), nodesOf(granted));
}

TEST_F(Cdi, OnlyResourcesThatWantOneHaveASpec) {
  startPrograms("inject: nodes");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_TRUE(spec().is_null());
  EXPECT_TRUE(fs::is_directory(cdiDirectory())) << "made where there is the right";
}

TEST_F(Cdi, AReplugIntoAnotherGroupIsInTheSpecBeforeItIsInAFrame) {
  start("inject: cdi");
  node_->hardware.remove(kA);
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kB}, {kA})) << said();
  node_->hardware.add({.address = kA, .group = 40});
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(resolveGpu(kA), ElementsAre("/dev/vfio/vfio", "/dev/vfio/40"));
}

TEST_F(Cdi, SpecsOutliveBothProgramsAndAreMendedWhenPrivdIsBack) {
  start("inject: cdi");
  node_->killPlugind();
  node_->killPrivd();
  EXPECT_THAT(resolveGpu(kA), ElementsAre("/dev/vfio/vfio", "/dev/vfio/7"));
  ASSERT_TRUE(node_->startPlugind(config("inject: cdi"))) << said();
  ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_EQ(node_->privd->count("event=spec_written"), 0U) << "it was right already";
  node_->killPrivd();
  fs::remove_all(cdiDirectory());
  ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  ASSERT_TRUE(node_->privd->says("event=spec_written")) << said();
  EXPECT_THAT(resolveGpu(kA), ElementsAre("/dev/vfio/vfio", "/dev/vfio/7"));
}

TEST_F(Cdi, APlugindThatWantsNoneUnlinksWhatTheOneBeforeWanted) {
  start("inject: cdi");
  std::ofstream(cdiDirectory() + "/nvidia.json") << "{}";
  node_->killPlugind();
  watched_ = false;
  ASSERT_TRUE(node_->startPlugind(config("inject: nodes"))) << said();
  ASSERT_TRUE(node_->privd->says("event=spec_unlinked")) << said();
  EXPECT_TRUE(spec().is_null());
  EXPECT_TRUE(fs::exists(cdiDirectory() + "/nvidia.json"));
}

TEST_F(Cdi, WithoutTheRightNothingOfTheResourceIsOfferedAndTheReasonIsSaid) {
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind(config("inject: cdi"))) << said();
  ASSERT_TRUE(node_->startPrivd()) << said();
  ASSERT_TRUE(node_->kubelet.shows(kNic, {kC})) << said();
  ASSERT_TRUE(node_->plugind->saysAll({"event=spec_missing", kGpu, "--plugind-rights"})) << said();
  EXPECT_EQ(node_->kubelet.registrations(kGpu), 0U);
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(node_->kubelet.registrations(kGpu), 0U);
}

TEST_F(Cdi, AFullDiskWithdrawsTheResourceAndNoOtherUntilThereIsRoom) {
  const SmallDisk disk(cdiDirectory());
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  disk.fill();
  startPrograms("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kNic, {kC})) << said();
  ASSERT_TRUE(node_->plugind->saysAll({"event=spec_missing", kGpu, "No space left"})) << said();
  ASSERT_TRUE(node_->privd->saysAll({"event=spec_failed", kGpu, "No space left"})) << said();
  EXPECT_EQ(node_->kubelet.registrations(kGpu), 0U);
  watched_ = true;
  disk.empty();
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(resolveGpu(kA), ElementsAre("/dev/vfio/vfio", "/dev/vfio/7"));
  // And again, while it is served: the frame says so, and an Allocate is refused.
  watched_ = false;
  disk.fill();
  node_->hardware.setGroup(kA, 40);
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {}, {kA, kB})) << said();
  std::string error;
  node_->kubelet.offer(kGpu, {kB}, error);
  EXPECT_THAT(error, HasSubstr("cdi"));
  EXPECT_THAT(error, HasSubstr("No space left"));
  EXPECT_TRUE(node_->kubelet.shows(kNic, {kC})) << said();
}

// ledger.md 13: what is held keeps its name over a reload.
TEST_F(Cdi, AReloadKeepsTheNamesOfHeldDevicesUntilTheyAreReleased) {
  const std::string path = node_->directory("posted.yaml");
  const auto configure = [&](const std::string& text) {
    std::ofstream(path + ".new") << text;
    fs::rename(path + ".new", path);
  };
  configure(config("inject: cdi"));
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind(config("inject: cdi"))) << said();
  auto options = withSpecs();
  options.insert(options.end(), {"--plugind-config", path});
  ASSERT_TRUE(node_->startPrivd(options)) << said();
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  const std::string held = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  configure("resources:\n  - {name: vfiogate.dev/nic, select: {vendor: \"8086\"}}\n");
  ASSERT_TRUE(node_->plugind->says("event=config_applied")) << said();
  EXPECT_EQ(spec()["devices"].size(), 1U);
  EXPECT_THAT(resolveGpu(held), Contains("/dev/vfio/vfio"));
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.admit(podOf("p2", kNic)).admitted) << said();
  EXPECT_TRUE(node_->privd->says("event=spec_unlinked")) << said();
}

}  // namespace
}  // namespace vfiogate::test
