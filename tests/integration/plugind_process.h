#pragma once
// The real plugind process, locked down, between a played privd and the stand-in kubelet.

#include "proto/deviceplugin.grpc.pb.h"
#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/support/hardware.h"
#include "tests/support/played/fake_privd.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

inline const std::string kResource = "vfiogate.dev/10de_2684";
inline const std::string kFirst = "0000:65:00.0";    // of group 31, its representative
inline const std::string kSibling = "0000:65:00.1";  // of group 31
inline const std::string kSecond = "0000:66:00.0";   // of group 32
inline constexpr uid_t kHardwareUid = 64531;
using Ids = std::set<std::string>;

inline constexpr const char* kConfig =
    "resources:\n"
    "  - select: {vendor: \"10de\"}\n"
    "grace: 3600s\n"
    "allocateWait: 2s\n";

inline Hardware twoGroups() {
  Hardware hardware;
  hardware.add(kFirst, 31);
  hardware.add(kSibling, 31);
  hardware.add(kSecond, 32);
  return hardware;
}

struct Allocated {
  grpc::Status status;
  v1beta1::AllocateResponse response;
};

class PlugindProcess : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: plugind takes privd and kubelet only as root";
    chmod(directory_.path().c_str(), 0755);
    std::filesystem::create_directory(directory_.path() / "plugind");
    std::filesystem::create_directories(deviceDirectory());
    ASSERT_EQ(chown((directory_ / "plugind").c_str(), 64532, 64532), 0);
  }

  void startPlugind(const std::string& config = kConfig) {
    std::ofstream(directory_ / "config.yaml") << config;
    plugind_.emplace(std::vector<std::string>{builtProgram("plugind"), "--listen", socket(),
                                              "--config", directory_ / "config.yaml"},
                     filteredEnvironment());
    ASSERT_TRUE(plugind_->says("event=started")) << said();
  }

  void startPrivd(const Hardware& hardware = twoGroups()) { privd_.emplace(privdWith(hardware)); }

  FakePrivd::Setup privdWith(const Hardware& hardware) const {
    return {.plugindSocket = socket(),
            .kubeletDir = deviceDirectory(),
            .hardware = hardware.snapshot(),
            .hardwareUid = kHardwareUid};
  }

  /// A kubelet that starts, after the one before, if there was one, was killed.
  void startKubelet(sim::Manner manner = sim::Manner::kRegisters) {
    kubelet_.reset();
    kubelet_.emplace(directory_ / "kubelet");
    kubelet_->behave(manner);
    kubelet_->start();
  }

  /// Everything runs, and the kubelet has seen the first frame.
  void startAll() {
    startPlugind();
    startKubelet();
    startPrivd();
    ASSERT_TRUE(showsBoth()) << said();
  }

  bool showsBoth() { return kubelet_->shows(kResource, {kFirst, kSecond}); }

  /// Allocate beside the stand-in kubelet's own checks, on a connection of its own, hung up on
  /// after `patience`.
  Allocated allocate(const Ids& ids, std::chrono::milliseconds patience = sim::kPatience) {
    const auto plugin = v1beta1::DevicePlugin::NewStub(
        grpc::CreateChannel("unix:" + deviceDirectory() + "/fake-vfiogate.dev_10de_2684.sock",
                            grpc::InsecureChannelCredentials()));
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    Allocated allocated;
    allocated.status = plugin->Allocate(&context, request, &allocated.response);
    return allocated;
  }

  /// All that plugind said, for failure texts.
  std::string said() { return plugind_->output(); }

  std::string socket() const { return directory_ / "plugind/plugind.sock"; }
  std::string deviceDirectory() const { return directory_ / "kubelet/device-plugins"; }

  void TearDown() override {
    if (kubelet_) {
      EXPECT_EQ(kubelet_->crash(), "");
    }
  }

  TempDir directory_;
  std::optional<ChildProcess> plugind_;
  std::optional<sim::KubeletSim> kubelet_;
  std::optional<FakePrivd> privd_;
};

}  // namespace vfiogate::test
