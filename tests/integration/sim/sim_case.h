#pragma once
// The fixture of tests that mount a simulation themselves.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "sim/base/temp_dir.h"
#include "sim/sysfs/own_namespaces.h"
#include "sim/sysfs/sim_process.h"

namespace vfiogate::sim {

/// Namespaces are entered before the first fixture is made: its members may need them.
class SimCase : public testing::Test {
protected:
  static void SetUpTestSuite() { enterOwnNamespaces(); }

  void SetUp() override {
    if (!enterOwnNamespaces()) GTEST_SKIP() << "needs root, /dev/fuse and namespaces of its own";
    std::filesystem::create_directories(directory_.path() / "mnt");
  }
  // What is mounted there goes before the directory.
  void TearDown() override { sim_.reset(); }

  TempDir directory_;
  std::unique_ptr<SimProcess> sim_;
};

}  // namespace vfiogate::sim
