#pragma once
// The fixture of all tests through the two real programs.

#include "tests/support/split_node.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <optional>

namespace vfiogate::test {

class SplitCase : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    node_.emplace();
    layOut(node_->hardware);
  }
  // A kubelet that would have crashed fails.
  void TearDown() override {
    if (node_) {
      EXPECT_EQ(node_->kubelet.crash(), "");
    }
  }
  /// The hardware before anything runs.
  virtual void layOut(FakeSysfs& hardware) = 0;

  std::optional<SplitNode> node_;
};

}  // namespace vfiogate::test
