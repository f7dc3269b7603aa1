// More resources than privd makes sockets for, with the real programs.

#include "tests/integration/split_case.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr unsigned kSockets = 64;

/// One model more than there are sockets, each a resource of its own.
class ManyResources : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    char address[16];
    for (unsigned i = 0; i <= kSockets; ++i) {
      snprintf(address, sizeof(address), "0000:%02x:00.0", 1 + i);
      hardware.add(
          {.address = address, .device = static_cast<std::uint16_t>(0x1000 + i), .group = i});
    }
  }
  json resources() {
    ChildProcess asks({builtProgram("plugind"), "status", "-o", "json", "--timeout", "30000",
                       "--listen", node_->plugindSocket()},
                      filteredEnvironment());
    const std::string said = asks.outputWhole();
    EXPECT_EQ(asks.wait(), 0) << said;
    return json::parse(said).at("resources");
  }
};

TEST_F(ManyResources, TheOneWithoutASocketSaysWhyAndTheOthersServeOn) {
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind("resources: [{select: {vendor: \"10de\"}}]\n")) << node_->said();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_TRUE(node_->plugind->saysAll({"event=registered"}, kSockets)) << node_->said();
  ASSERT_TRUE(node_->plugind->says("event=register_failed")) << node_->said();

  const json all = resources();
  ASSERT_EQ(all.size(), kSockets + 1);
  json without = json::array();
  for (const json& resource : all) {
    const std::string name = resource.at("name");
    if (!resource.at("registered")) {
      without.push_back(resource);
      continue;
    }
    EXPECT_FALSE(resource.contains("trouble")) << resource;
    ASSERT_TRUE(node_->kubelet.shows(name, {resource.at("devices").at(0).at("address")})) << name;
    const auto pod = node_->kubelet.admit(podOf("pod-" + name, name));
    EXPECT_TRUE(pod.admitted) << name << ": " << pod.message;
  }
  ASSERT_EQ(without.size(), 1U) << without;
  EXPECT_EQ(without[0].at("trouble"), "privd holds 64 sockets for us already");
  EXPECT_THAT(node_->plugind->output(),
              HasSubstr("event=register_failed resource=" +
                        without[0].at("name").get<std::string>() + " turn=no-socket"));
}

}  // namespace
}  // namespace vfiogate::test
