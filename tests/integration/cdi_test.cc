// Static CDI specs through the two real programs: inject: cdi, kata: true, and a node that reboots.

#include "tests/support/split_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kGpu = "vfiogate.dev/gpu";
const std::string kNic = "vfiogate.dev/nic";
const std::string kA = "0000:01:00.0";
const std::string kB = "0000:02:00.0";
const std::string kC = "0000:03:00.0";

using Nodes = std::vector<std::string>;

class Cdi : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    sim::KubeletOptions options;
    options.told = [this](const std::string& what) { checkRegistration(what); };
    options.heard = [this](const v1beta1::ListAndWatchResponse& frame) { checkFrame(frame); };
    node_.emplace(std::move(options));
    node_->hardware.add({.address = kA, .group = 7});
    node_->hardware.add({.address = kB, .group = 8});
    node_->hardware.add({.address = kC, .vendor = 0x8086, .device = 0x1572, .group = 9});
    node_->addMarker();
  }
  void TearDown() override {
    if (!node_) return;
    EXPECT_EQ(node_->kubelet.crash(), "");
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(faults_, IsEmpty()) << "a spec comes before what it is for";
  }

  static std::string config(const std::string& keys) {
    return "resources:\n"
           "  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, " +
           keys +
           "}\n"
           "  - {name: vfiogate.dev/nic, select: {vendor: \"8086\"}}\n"
           "  - {select: {vendor: \"1b36\"}}\n"
           "allocateWait: 2s\n";
  }
  std::string cdiDirectory() { return node_->directory("cdi"); }
  std::vector<std::string> withSpecs() {
    return {"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir", cdiDirectory()};
  }

  /// From now on every frame with a Healthy GPU is compared with the spec, and every registration.
  void start(const std::string& keys, const std::set<std::string>& gpus = {kA, kB}) {
    watched_ = true;
    startPrograms(keys);
    ASSERT_TRUE(node_->kubelet.shows(kGpu, gpus)) << said();
    ASSERT_TRUE(node_->kubelet.shows(kNic, {kC})) << said();
  }
  void startPrograms(const std::string& keys) {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(config(keys))) << said();
    ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  }

  /// The only spec of the directory; null: there is none.
  nlohmann::json spec() {
    if (!fs::exists(cdiDirectory())) return {};
    for (const auto& entry : fs::directory_iterator(cdiDirectory())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("vfiogate-") || !name.ends_with(".json")) continue;
      std::ifstream file(entry.path());
      return nlohmann::json::parse(file);
    }
    return {};
  }
  /// What the runtime would give to a container that has this name.
  Nodes resolve(const std::string& name) {
    Nodes nodes;
    const nlohmann::json file = spec();
    if (file.is_null()) return nodes;
    for (const auto& device : file["devices"]) {
      const std::string kind = file["kind"];
      if (kind + "=" + std::string(device["name"]) != name) continue;
      for (const auto& node : device["containerEdits"]["deviceNodes"])
        nodes.push_back(node["path"]);
    }
    return nodes;
  }
  Nodes resolveGpu(const std::string& address) { return resolve(kGpu + "=" + address); }

  /// The pod's one grant.
  sim::Granted admit(const std::string& pod) {
    const auto admission = node_->kubelet.admit(podOf(pod, kGpu));
    EXPECT_TRUE(admission.admitted) << admission.message << said();
    return admission.granted.empty() ? sim::Granted() : admission.granted.back();
  }
  static Nodes namesOf(const sim::Granted& granted) {
    Nodes names;
    for (const auto& device : granted.response.cdi_devices()) names.push_back(device.name());
    return names;
  }
  static Nodes nodesOf(const sim::Granted& granted) {
    Nodes nodes;
    for (const auto& device : granted.response.devices()) nodes.push_back(device.host_path());
    return nodes;
  }
  std::string startContainer(const std::string& pod) {
    return node_->kubelet.startContainer(pod, "compute").error;
  }

  /// The node goes down with all its pods, and what is below /run is gone.
  void powerOff() {
    node_->kubelet.powerOff();
    node_->killPlugind();
    node_->killPrivd();
    fs::remove_all(cdiDirectory());
  }
  /// It comes up again, under another boot id; the kubelet still has its checkpoint.
  void reboot(const std::string& keys) {
    std::ofstream(node_->directory("config.yaml")) << config(keys);
    const std::string bootId = node_->directory("boot_id");
    std::ofstream(bootId) << "11111111-2222-3333-4444-555555555555\n";
    node_->kubelet.start();
    node_->plugind.emplace(
        std::vector<std::string>{
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
            "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"", bootId,
            builtProgram("plugind"), "--listen", node_->plugindSocket(), "--config",
            node_->directory("config.yaml")},
        programEnvironment());
    ASSERT_TRUE(node_->plugind->says("event=started")) << said();
    ASSERT_TRUE(node_->startPrivd(withSpecs())) << said();
  }

  std::string said() { return node_->said(); }

  std::optional<SplitNode> node_;
  std::atomic<bool> watched_ = false;
  std::atomic<int> registrationsSeen_ = 0;  ///< of those that were compared

private:
  void fault(const std::string& what) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(what);
  }
  void checkRegistration(const std::string& what) {
    if (!watched_ || !what.starts_with("Register " + kGpu + " ")) return;
    if (spec().is_null()) fault("no spec yet when the kubelet meets: " + what);
    ++registrationsSeen_;
  }
  void checkFrame(const v1beta1::ListAndWatchResponse& frame) {
    if (!watched_) return;
    for (const auto& device : frame.devices()) {
      const bool gpu = device.id() == kA || device.id() == kB;
      if (!gpu || device.health() != "Healthy") continue;
      const Nodes nodes = resolveGpu(device.id());
      const auto link = fs::read_symlink(node_->hardware.directoryOf(device.id()) / "iommu_group");
      const Nodes want{"/dev/vfio/vfio", "/dev/vfio/" + link.filename().string()};
      if (nodes != want) fault(device.id() + " is shown Healthy before its spec is as it is");
    }
  }

  std::mutex mutex_;
  std::vector<std::string> faults_;
};

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
  EXPECT_THAT(granted.response.annotations().at("vfiogate.dev/lent"), HasSubstr(id));
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

/// A small file system in the directory's place; gone at its end.
class SmallDisk {
public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    fs::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=8k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  void fill() const { std::ofstream(path_ + "/filler") << std::string(8192, 'x'); }
  void empty() const { fs::remove(path_ + "/filler"); }

private:
  std::string path_;
  bool mounted_ = false;
};

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

// Timeline 18, I1: the checkpoint still has the answer of before the reboot.
TEST_F(Cdi, RebootWithNewNumbersStartsByName) {
  start("inject: cdi", {kA, kB});
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  // The two change places: the number that the pod was lent is another device's now.
  node_->hardware.setGroup(kA, 40);
  node_->hardware.setGroup(kB, 41);
  node_->hardware.setGroup(kA, 8);
  node_->hardware.setGroup(kB, 7);
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
  EXPECT_THAT(resolveGpu(id),
              ElementsAre("/dev/vfio/vfio", id == kA ? "/dev/vfio/8" : "/dev/vfio/7"));
}

TEST_F(Cdi, RebootWithNewNumbersIsRefusedWhereNodesWereHandedOver) {
  start("kata: true");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.setGroup(id, 40);
  reboot("kata: true");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("stale-nodes"));
}

TEST_F(Cdi, RebootWithTheSameNumbersStarts) {
  start("inject: cdi");
  admit("p1");
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_EQ(startContainer("p1"), "") << said();
  EXPECT_THAT(admit("p2").response.annotations().at("vfiogate.dev/lent"), HasSubstr("b11111111-"));
}

TEST_F(Cdi, RebootWithOtherHardwareAtTheAddressIsRefused) {
  start("inject: cdi");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.setAttribute(id, "device", "0x2685");
  reboot("inject: cdi");
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {kA, kB})) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("other-hardware"));
}

TEST_F(Cdi, RebootWithTheDeviceAtAnotherAddressIsRefused) {
  start("inject: cdi");
  const std::string id = admit("p1").ids.at(0);
  ASSERT_EQ(startContainer("p1"), "") << said();
  powerOff();
  node_->hardware.remove(id);
  node_->hardware.add({.address = "0000:09:00.0", .group = id == kA ? 7U : 8U});
  reboot("inject: cdi");
  const std::string other = id == kA ? kB : kA;
  ASSERT_TRUE(node_->kubelet.shows(kGpu, {other, "0000:09:00.0"}, {id})) << said();
  const std::string error = startContainer("p1");
  EXPECT_THAT(error, HasSubstr(id));
  EXPECT_THAT(error, HasSubstr("gone"));
  EXPECT_THAT(resolveGpu(id), IsEmpty()) << "its group's number is another address's";
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
