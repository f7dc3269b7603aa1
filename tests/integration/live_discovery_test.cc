// Live discovery through the two real programs, where it takes more than one event.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kGpus = "vfiogate.dev/10de_2684";
constexpr const char* kNics = "vfiogate.dev/8086_1572";
constexpr const char* kCard = "0000:01:00.0";
constexpr const char* kNic = "0000:02:00.0";

class LiveDiscovery : public SplitCase {
protected:
  ~LiveDiscovery() noexcept override = default;
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kCard, .group = 7});
    addNic();
    hardware.add({.address = "0000:03:00.0", .driver = "nvidia", .group = 9});
    hardware.add({.address = "0000:00:01.0", .headerType = 1, .driver = "pcieport", .group = 1});
  }
  void addNic() {
    node_->hardware.add(
        {.address = kNic, .vendor = 0x8086, .device = 0x1572, .classCode = 0x020000, .group = 8});
  }
  void startAll() {
    ASSERT_TRUE(
        node_->startPlugind("emptyResourceAfter: 1s\n"
                            "resources: [{select: {vendor: [\"10de\", \"8086\"]}}]\n"))
        << node_->said();
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
    node_->kubelet.start();
    ASSERT_TRUE(node_->kubelet.shows(kGpus, {kCard}, {"0000:03:00.0"})) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kNics, {kNic})) << node_->said();
  }
  bool becomes(const std::string& address, bool healthy, std::chrono::seconds within) {
    return node_->kubelet.await(
        kGpus,
        [&](const sim::DeviceTable& devices) {
          return (healthy ? devices.healthy() : devices.unhealthy()).contains(address);
        },
        within);
  }
  std::string run(std::vector<std::string> command) {
    command.front() = builtProgram(command.front());
    ChildProcess process(command, filteredEnvironment());
    std::string said = process.outputWhole();
    EXPECT_EQ(process.wait(), 0) << said;
    return said;
  }
};

// Side by side, as both take the ledger's real time.
TEST_F(LiveDiscovery, I2_WhatFlapsRestsAndWhatIsEmptyEndsAndBothComeBack) {
  startAll();
  node_->hardware.remove(kNic);
  for (int i = 0; i < 12; ++i) {
    const bool bound = i % 2 == 1;
    node_->hardware.setDriver(kCard, bound ? "vfio-pci" : "nvidia");
    // The last time it is bound and stays Unhealthy.
    if (i < 11) {
      ASSERT_TRUE(becomes(kCard, bound && i < 10, std::chrono::seconds(10))) << node_->said();
    }
  }
  ASSERT_TRUE(node_->tells("withheld\",\"reason\":\"flapping", kCard)) << node_->said();
  EXPECT_TRUE(becomes(kCard, true, std::chrono::seconds(60))) << node_->said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpus), 0U);

  // 60 s in the frame, 10 s at rest, and 1 s empty.
  ASSERT_TRUE(node_->plugind->saysAll({"event=resource_ended", kNics}, 1, std::chrono::seconds(90)))
      << node_->said();
  EXPECT_TRUE(node_->kubelet.awaitStreamsEnded(kNics, 1)) << node_->said();
  addNic();
  EXPECT_TRUE(node_->kubelet.awaitRegistrations(kNics, 2)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kNics, {kNic})) << node_->said();
}

TEST_F(LiveDiscovery, OneReasonCodeInListLogAndMetrics) {
  startAll();
  const std::string metrics = run({"plugind", "status", "-o", "metrics", "--listen",
                                   node_->plugindSocket(), "--timeout", "30000"});
  EXPECT_THAT(metrics, HasSubstr("vfiogate_devices{reason=\"host-driver\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("vfiogate_devices{reason=\"bridge\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("vfiogate_devices{reason=\"offered\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("vfiogate_hardware_rereads_total{kind=\"sweep\"}"));
  EXPECT_THAT(metrics, HasSubstr("vfiogate_uevents_total{kind=\"foreign\"} 0\n"));
  EXPECT_TRUE(node_->tells("withheld\",\"reason\":\"host-driver", "0000:03:00.0")) << node_->said();
  const json list = json::parse(run({"privd", "list", "-o", "json", "--sysfs",
                                     node_->hardware.sysfs(), "--dev", node_->hardware.dev()}));
  for (const json& device : list.at("devices")) {
    if (device.at("address") == "0000:03:00.0") {
      EXPECT_EQ(device.at("state"), "host-driver") << device;
    }
  }
}

}  // namespace
}  // namespace vfiogate::test
