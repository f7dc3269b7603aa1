#pragma once
// The stand-in kubelet on a directory of the test's own, to be tried against the smallest plugin.

#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/integration/kubelet/tiny_plugin.h"

#include <gtest/gtest.h>

#include <grpc/grpc.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {

inline const std::string kGpu = "example.com/gpu";
inline const std::string kNic = "example.com/nic";

/// A bound socket at `path`; serving nothing, listening if `listens`.
inline int bindSocket(const std::string& path, bool listens) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << path;
  if (listens) {
    EXPECT_EQ(listen(fd, 8), 0);
  }
  return fd;
}

class KubeletEdges : public testing::Test {
protected:
  // gRPC's end can wait 10 s for a poller of its own after a large frame: it stays until the
  // program's.
  static void SetUpTestSuite() { grpc_init(); }

  explicit KubeletEdges(KubeletOptions options = quick()) : kubelet_(prepared(), options) {}

  static KubeletOptions quick() {
    return {.dialWithin = std::chrono::milliseconds(500),
            .optionsWithin = std::chrono::milliseconds(5000)};
  }
  std::string prepared() const {
    std::filesystem::create_directory(deviceDir_);
    return directory_.path().string();
  }

  std::string in(const std::string& name) const { return deviceDir_ + "/" + name; }

  /// A plugin for `resource`, registered, whose frame of healthy `ids` has arrived.
  std::unique_ptr<TinyPlugin> serve(const std::string& resource, const std::set<std::string>& ids,
                                    const std::string& socket = "p.sock",
                                    TinyPlugin::Options options = {}) {
    auto plugin = std::make_unique<TinyPlugin>(in(socket));
    plugin->can(options);
    std::vector<TinyPlugin::Device> devices;
    for (const auto& id : ids) devices.push_back({id});
    plugin->show(devices);
    EXPECT_EQ(askToRegister(deviceDir_, socket, resource), "");
    EXPECT_TRUE(kubelet_.shows(resource, ids));
    return plugin;
  }

  Checkpoint checkpoint() const {
    std::ifstream file(in("kubelet_internal_checkpoint"));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto parsed = parseCheckpoint(text);
    EXPECT_TRUE(parsed) << "no valid checkpoint: " << text;
    return parsed.value_or(Checkpoint());
  }

  TempDir directory_;
  std::string deviceDir_ = directory_ / "device-plugins";
  KubeletSim kubelet_;
};

}  // namespace vfiogate::sim
