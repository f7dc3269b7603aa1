// PodResources List against the stand-in kubelet.

#include "plugind/kubelet/calls_to_kubelet.h"

#include "ipc/socket/unix_socket.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <filesystem>

namespace vfiogate::test {
namespace {

class PodListCall : public testing::Test {
protected:
  ~PodListCall() noexcept override = default;
  void SetUp() override {
    std::filesystem::create_directories(dir_.path() / "kubelet/device-plugins");
    sim::KubeletOptions options;
    options.callsASecond = 1e6;
    options.callsAtOnce = 1e6;
    kubelet_.emplace(dir_ / "kubelet", options);
    kubelet_->start();
  }

  kj::AutoCloseFd dial() const {
    auto made = dialAt((dir_ / "kubelet/pod-resources/kubelet.sock").c_str());
    return made ? kj::mv(made).value() : kj::AutoCloseFd();
  }

  TempDir dir_;
  std::optional<sim::KubeletSim> kubelet_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
};

// Nothing else of gRPC's client or server is there, as at plugind's start: each call is the first
// and the last one. gRPC freed its threads' queue twice where a call's end was the last thing.
TEST_F(PodListCall, ComesAndGoesManyTimes) {
  for (int i = 0; i < 300; ++i) {
    const auto list = listPods(dial()).wait(io_.waitScope);
    ASSERT_TRUE(list) << list.error();
  }
}

TEST_F(PodListCall, MayBeDroppedAtAnyTime) {
  for (int i = 0; i < 300; ++i) {
    auto dropped = listPods(dial());
    if (i % 3 == 0) io_.waitScope.poll();
    dropped = nullptr;
  }
  EXPECT_TRUE(listPods(dial()).wait(io_.waitScope));
}

}  // namespace
}  // namespace vfiogate::test
