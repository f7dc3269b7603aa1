#pragma once
// plugind's end of its connections with privd, and a played privd that dials it.

#include "plugind/privd/link/privd_link.h"

#include "ipc/gate/opening.h"
#include "ipc/socket/unix_socket.h"
#include "sim/base/temp_dir.h"
#include "tests/support/hardware.h"
#include "tests/support/played/fake_privd.h"
#include "tests/support/played/silent_events.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace vfiogate::test {

class TakingEvents final : public SilentEvents {
public:
  void hardwareSeen(const Snapshot& snapshot) override {
    if (!there) first = snapshot;
    seen = snapshot;
    SilentEvents::hardwareSeen(snapshot);
  }
  void rightToBindTold(RightToBind told) override { right = told; }
  void kubeletAppeared(const KubeletIdentity& kubelet) override { kubelets.push_back(kubelet); }
  void podResourcesAppeared() override { ++podResources; }
  void checkpointReplaced() override { ++checkpoints; }
  void configurationPosted(const std::string& text) override { configurations.push_back(text); }

  Snapshot seen;
  Snapshot first;  ///< of this session
  RightToBind right = RightToBind::kBinderAway;
  std::vector<KubeletIdentity> kubelets;
  std::vector<std::string> configurations;
  unsigned podResources = 0;
  unsigned checkpoints = 0;
};

class PrivdLinkTest : public testing::Test {
protected:
  ~PrivdLinkTest() noexcept override = default;
  void SetUp() override {
    std::filesystem::create_directories(deviceDirectory());
    auto listening = listenAt(dir_.path().c_str(), "plugind.sock", WhoMayConnect::kOwner);
    link_.emplace(kj::mv(listening).value(),
                  PrivdLink::Users{getuid(), hardwareUser(), getuid(), getuid()},
                  LoopDeps{io_.unixEventPort, *io_.lowLevelProvider, io_.provider->getTimer(),
                           std::make_shared<TaskQueue>(), random_});
    KJ_ASSERT_NONNULL(link_).start(events_, [](kj::AutoCloseFd, Visitor) {});
  }

  virtual uid_t hardwareUser() const { return getuid(); }

  static Hardware twoGroups() {
    Hardware hardware;
    hardware.add("0000:65:00.0", 31);
    hardware.add("0000:66:00.0", 32);
    return hardware;
  }

  void startPrivd(bool hasBinder = true) {
    privd_.emplace(FakePrivd::Setup{.plugindSocket = dir_ / "plugind.sock",
                                    .kubeletDir = deviceDirectory(),
                                    .hardware = twoGroups().snapshot(),
                                    .hasBinder = hasBinder});
    EXPECT_TRUE(until([this] { return events_.there; }));
    if (hasBinder) {
      EXPECT_TRUE(until([this] { return events_.right == RightToBind::kGiven; }));
    }
  }

  /// What one of privd's processes has after its opening.
  kj::AutoCloseFd dialAs(PrivdRole role) {
    kj::AutoCloseFd line = dialAt((dir_ / "plugind.sock").c_str()).value();
    if (role == PrivdRole::kHardware) {
      [[maybe_unused]] const Done opened = sendHardwareOpening(line, kChannelVersion).value();
      return line;
    }
    return sendChannelOpening(line, role, kChannelVersion).value();
  }

  /// Whether plugind hangs up on it.
  bool isCut(int connection) {
    return until([connection] {
      char byte = 0;
      return recv(connection, &byte, 1, MSG_DONTWAIT) == 0;
    });
  }

  std::vector<PrivdRole> away() { return link().away(); }

  template <typename Condition>
  bool until(Condition condition) {
    kj::Timer& timer = io_.provider->getTimer();
    const auto end = timer.now() + 20 * kj::SECONDS;
    while (!condition() && timer.now() < end) {
      timer.afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    }
    return condition();
  }

  template <typename T>
  T await(kj::Promise<T> promise) {
    return promise.wait(io_.waitScope);
  }

  PrivdLink& link() { return KJ_ASSERT_NONNULL(link_); }
  std::string deviceDirectory() const { return dir_ / "kubelet/device-plugins"; }
  std::string checkpointPath() const { return deviceDirectory() + "/kubelet_internal_checkpoint"; }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::mt19937 random_{1};
  TakingEvents events_;
  std::optional<FakePrivd> privd_;
  kj::Maybe<PrivdLink> link_;
};

}  // namespace vfiogate::test
