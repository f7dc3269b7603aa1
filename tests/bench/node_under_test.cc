#include "tests/bench/node_under_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace vfiogate::bench {
namespace {

constexpr const char* kConfig = "resources:\n  - select: {vendor: \"10de\"}\n";
constexpr uid_t kPlugindUid = 64532;
constexpr unsigned kFunctions = 8;
constexpr unsigned kSlots = 32;

}  // namespace

void giveUp(const std::string& why) {
  throw std::runtime_error(why);
}

std::string addressOf(unsigned number) {
  char text[32];
  snprintf(text, sizeof(text), "0000:%02x:%02x.%u", 1 + number / (kFunctions * kSlots),
           number / kFunctions % kSlots, number % kFunctions);
  return text;
}

NodeUnderTest::NodeUnderTest(unsigned devices, sim::KubeletOptions kubelet) : devices_(devices) {
  chmod(dir_.path().c_str(), 0755);
  for (const char* name : {"plugind", "kubelet", "kubelet/device-plugins"}) {
    std::filesystem::create_directory(dir_.path() / name);
  }
  if (chown((dir_ / "plugind").c_str(), kPlugindUid, kPlugindUid) != 0) giveUp("needs root");
  for (unsigned i = 0; i < devices; ++i) {
    hardware_.add({.address = addressOf(i), .group = i, .numaNode = 0});
  }
  std::ofstream(dir_ / "config.yaml") << kConfig;
  kubelet_.emplace(kubeletDirectory(), std::move(kubelet));
  kubelet_->start();
  startAll();
  if (!plugind_->says("event=started")) giveUp("plugind does not start: " + plugind_->output());
  if (!privd_->says("event=started")) giveUp("privd does not start: " + privd_->output());
  awaitAll();
}

void NodeUnderTest::startAll() {
  startPlugind();
  startPrivd();
}

void NodeUnderTest::stopAll() {
  stopPlugind();
  privd_.reset();
}

void NodeUnderTest::startPrivd() {
  privd_.emplace(std::vector<std::string>{
      test::builtProgram("privd"), "serve", "--plugind", plugindSocket(), "--sysfs",
      hardware_.sysfs(), "--dev", hardware_.dev(), "--kubelet-dir", kubeletDirectory(),
      "--state-dir", dir_ / "state", "--audit-log", dir_ / "audit.jsonl"});
}

void NodeUnderTest::startPlugind() {
  plugind_.reset();
  plugind_.emplace(std::vector<std::string>{test::builtProgram("plugind"), "--listen",
                                            plugindSocket(), "--config", dir_ / "config.yaml"});
}

void NodeUnderTest::stopPlugind() {
  const std::size_t before = kubelet_->streamsEnded(kResource);
  plugind_.reset();
  if (!kubelet_->awaitStreamsEnded(kResource, before + 1)) giveUp("the stream of none never ends");
}

void NodeUnderTest::restartPlugind() {
  const std::size_t before = kubelet_->registrations(kResource);
  startPlugind();
  if (!kubelet_->awaitRegistrations(kResource, before + 1)) giveUp("plugind stays away");
}

void NodeUnderTest::awaitAll() {
  const bool shown = kubelet_->await(
      kResource, [this](const sim::DeviceTable& table) { return table.allocatable() == devices_; });
  if (!shown) giveUp("the kubelet never saw the devices: " + plugind_->output());
}

}  // namespace vfiogate::bench
