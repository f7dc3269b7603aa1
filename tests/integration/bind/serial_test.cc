// A card that is selected by its serial number, through the real programs: only root may read it,
// so the binder asks the card.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

const std::string kMine = "vfiogate.dev/mine";
const std::string kOthers = "vfiogate.dev/others";
const std::string kFirst = "0000:01:00.0";
const std::string kSecond = "0000:02:00.0";
const std::string kThird = "0000:03:00.0";

constexpr const char* kConfig =
    "resources:\n"
    "  - {name: vfiogate.dev/mine, select: {vendor: \"10de\", serial: MT1}}\n"
    "  - {name: vfiogate.dev/others, select: {vendor: \"10de\"}}\n";

class BySerial : public SplitCase {
protected:
  ~BySerial() noexcept override = default;

  /// The third tells none.
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kFirst});
    hardware.add({.address = kSecond, .group = 8});
    hardware.add({.address = kThird, .group = 9});
    putSerial(kFirst, "MT1");
    putSerial(kSecond, "MT2");
  }
  /// Of a card that is there, or is about to come.
  void putSerial(const std::string& address, const std::string& serial) {
    const auto length = [](std::size_t size) { return std::string(1, static_cast<char>(size)); };
    std::filesystem::create_directories(node_->hardware.directoryOf(address));
    node_->hardware.setAttribute(
        address, "vpd",
        '\x90' + length(3 + serial.size()) + '\0' + "SN" + length(serial.size()) + serial + "\x78");
  }
  void startPlugind(const std::string& config = kConfig) {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(config)) << node_->said();
  }
  void startPrivd(const std::string& rights, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--rescan", "1", "--plugind-rights", rights});
    ASSERT_TRUE(node_->startPrivd(more)) << node_->said();
  }
  /// Within 30 s `plugind explain` says this. Until plugind has heard of the binder it says that
  /// the card is being asked.
  void expectExplained(const std::string& address, const std::string& text) {
    std::string said;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    do {
      ChildProcess process({builtProgram("plugind"), "explain", address, "--timeout", "30000",
                            "--listen", node_->directory("plugind") + "/plugind.sock"},
                           filteredEnvironment());
      said = process.outputWhole();
      process.wait();
      if (said.find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } while (std::chrono::steady_clock::now() < end);
    ADD_FAILURE() << "not said: " << text << "\nbut: " << said << node_->said();
  }
};

TEST_F(BySerial, TheCardWithTheNumberIsInItsResourceAndTheOthersAreInTheNext) {
  startPlugind();
  startPrivd("watch,kubelet,serial");
  EXPECT_TRUE(node_->kubelet.shows(kMine, {kFirst})) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kOthers, {kSecond, kThird})) << node_->said();
  const auto pod = node_->kubelet.admit(podOf("p1", kMine));
  ASSERT_TRUE(pod.admitted) << pod.message << node_->said();
  EXPECT_EQ(pod.granted.at(0).ids.at(0), kFirst);
  EXPECT_THAT(pod.granted.at(0).response.annotations().at("vfiogate.dev/allocated"),
              HasSubstr(" sn=MT1 "));
}

// Neither in its resource nor in another one: it may be somebody's.
TEST_F(BySerial, I1_WithoutABinderTheReasonIsTold) {
  startPlugind();
  startPrivd("watch,kubelet");
  expectExplained(kFirst,
                  "resources[0] selects by serial, and the serial number of 0000:01:00.0 is not "
                  "known: no privd-binder is here that would read it");
  node_->killPrivd();
  startPrivd("watch,kubelet,serial");
  EXPECT_TRUE(node_->kubelet.shows(kMine, {kFirst})) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kOthers, {kSecond, kThird})) << node_->said();
}

TEST_F(BySerial, WithoutTheRightTheReasonIsTold) {
  startPlugind();
  startPrivd("watch,kubelet", {"--declare", "0000:77:00.0=10de:2684"});
  expectExplained(kFirst, "privd's --plugind-rights have neither serial nor bind");
}

// An id leaves one resource's frame before it is in another's: explain says it at once.
TEST_F(BySerial, I1_ACardThatTakesItsPlaceIsNotOfferedInItsResource) {
  startPlugind();
  startPrivd("watch,kubelet,serial");
  ASSERT_TRUE(node_->kubelet.shows(kMine, {kFirst})) << node_->said();
  node_->hardware.remove(kFirst);
  ASSERT_TRUE(node_->kubelet.shows(kMine, {}, {kFirst})) << node_->said();
  putSerial(kFirst, "MT7");
  node_->hardware.add({.address = kFirst});
  expectExplained(kFirst, "falls into " + kOthers);
  EXPECT_TRUE(node_->kubelet.shows(kMine, {}, {kFirst})) << node_->said();
  std::string error;
  node_->kubelet.offer(kMine, {kFirst}, error);
  EXPECT_NE(error, "") << "it is in its resource no more";
  node_->hardware.remove(kSecond);
  ASSERT_TRUE(node_->kubelet.shows(kOthers, {kThird}, {kSecond})) << node_->said();
  putSerial(kSecond, "MT1");
  node_->hardware.add({.address = kSecond, .group = 8});
  expectExplained(kSecond, "falls into " + kMine);  // wherever it is
}

TEST_F(BySerial, I1_WhatIsExcludedByItsNumberIsNeverOffered) {
  startPlugind(
      "exclude:\n  - {serial: MT2}\nresources:\n  - {name: vfiogate.dev/others, select: "
      "{vendor: \"10de\"}}\n");
  startPrivd("watch,kubelet,serial");
  EXPECT_TRUE(node_->kubelet.shows(kOthers, {kFirst, kThird})) << node_->said();
  expectExplained(kSecond, "matches exclude[0]");
}

}  // namespace
}  // namespace vfiogate::test
