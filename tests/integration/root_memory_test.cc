// What the processes that run as root have in memory of their own, within what privd/BUDGET says.

#include "sim/base/process_status.h"
#include "tests/integration/split_case.h"
#include "tests/support/sanitizers.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

/// The number after `key` in a file of such lines; 0: it has none.
std::size_t numberAfter(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + " ")) return std::stoul(line.substr(key.size()));
  }
  return 0;
}

std::size_t privateKib(pid_t pid) {
  const fs::path sizes = fs::path("/proc") / std::to_string(pid) / "smaps_rollup";
  return numberAfter(sizes, "Private_Clean:") + numberAfter(sizes, "Private_Dirty:");
}

class RootMemory : public SplitCase {
protected:
  static constexpr unsigned kDevices = 256;

  void layOut(FakeSysfs& hardware) override {
    for (unsigned i = 0; i < kDevices; ++i) {
      char address[16];
      std::snprintf(address, sizeof(address), "0000:%02x:%02x.%u", 0x10 + i / 128, i / 8 % 16,
                    i % 8);
      hardware.add({.address = address, .group = 100 + i});
      devices_.insert(address);
    }
  }

  std::set<std::string> devices_;
};

TEST_F(RootMemory, OfGateAndBinderIsWithinTheirBudgetWith256Devices) {
  if (!kOwnAllocator) GTEST_SKIP() << "a sanitizer keeps what was freed";
  const std::string resource = "vfiogate.dev/10de_2684";
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind("resources: [{select: {vendor: \"10de\"}}]\n")) << node_->said();
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(resource, devices_)) << node_->said();
  const auto pod = node_->kubelet.admit(podOf("pod-1", resource));
  ASSERT_TRUE(pod.admitted) << pod.message << node_->said();
  const fs::path budget = fs::path(std::getenv("VFIOGATE_SOURCE")) / "privd/BUDGET";
  for (const std::string role : {"gate", "binder"}) {
    const pid_t pid = childRunning(node_->privd->pid(), "privd-" + role);
    ASSERT_GT(pid, 0) << role;
    const std::size_t found = privateKib(pid);
    const std::size_t allowed = numberAfter(budget, role + " memory");
    std::printf("privd-%s has %zu KiB of its own, of %zu\n", role.c_str(), found, allowed);
    EXPECT_GT(found, 0U);
    EXPECT_LE(found, allowed) << role;
  }
}

}  // namespace
}  // namespace vfiogate::test
