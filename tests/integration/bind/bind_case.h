#pragma once
// The fixture of all tests that bind on the simulated node.

#include "tests/support/bind_node.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate::test {

/// A laptop's graphics card, display and console of its host, and its audio function.
constexpr const char* kLaptop = "laptop-one-gpu.yaml";
constexpr const char* kGpu = "0000:01:00.0";
constexpr const char* kAudio = "0000:01:00.1";
constexpr const char* kWifi = "0000:04:00.0";
constexpr const char* kLan = "0000:03:00.0";
constexpr const char* kNvme = "0000:02:00.0";
/// What an informed person lifts to have the card.
inline const std::vector<std::string> kLiftGpu{"--override", "boot-vga",   "--override",
                                               "console",    "--override", "users"};

inline std::vector<std::string> words(std::vector<std::string> first,
                                      const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

class BindCase : public testing::Test {
protected:
  void SetUp() override {
    if (!enterOwnNamespaces()) GTEST_SKIP() << "needs root and /dev/fuse";
  }
  void bring(const std::string& topology) { node_.emplace(topology); }

  Ended bindGpu(const std::vector<std::string>& more = {}) {
    return node_->change(words(words({"bind", kGpu}, kLiftGpu), more));
  }
  void expectGoodLog() const {
    const Ended verified = BindNode::plain({"audit", "verify", node_->auditFile()});
    EXPECT_EQ(verified.code, 0) << verified.text;
  }

  std::optional<BindNode> node_;
};

/// With a daemon (true) and by the command line alone.
template <typename Case>
class EitherWay : public Case, public testing::WithParamInterface<bool> {
protected:
  void bringUp(const std::string& topology, const std::vector<std::string>& more = {}) {
    this->bring(topology);
    if (!this->GetParam()) return;
    ASSERT_TRUE(this->node_->serve(more)) << this->node_->daemon().output();
  }
};

inline std::string wayName(const testing::TestParamInfo<bool>& way) {
  return way.param ? "ByDaemon" : "Alone";
}

}  // namespace vfiogate::test
