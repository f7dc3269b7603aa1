// The real privd, locked down, as a DRA driver's plugind meets it: sockets that come and go, specs
// of claims.

#include "plugind/dra/claims/claim_record.h"
#include "plugind/privd/link/privd_link.h"

#include "ipc/socket/unix_socket.h"
#include "sim/base/process_status.h"
#include "tests/integration/split_case.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/silent_events.h"

#include <kj/async-io.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kHardwareUid = 64531;

/// plugind's end of the connection, in this process: only who listens has plugind's uid.
class DraPeer {
public:
  explicit DraPeer(const std::string& socket) {
    const fs::path path = socket;
    // Who calls listen() is who privd finds there.
    EXPECT_EQ(seteuid(kPlugindUid), 0);
    auto listening =
        listenAt(path.parent_path().c_str(), path.filename().c_str(), WhoMayConnect::kEverybody);
    EXPECT_EQ(seteuid(0), 0);
    link.emplace(kj::mv(listening).value(),
                 PrivdLink::Users{0, kHardwareUid, kPlugindUid, kNetdUid},
                 LoopDeps{io.unixEventPort, *io.lowLevelProvider, io.provider->getTimer(),
                          std::make_shared<TaskQueue>(), random_});
    KJ_ASSERT_NONNULL(link).start(events, [](kj::AutoCloseFd, Visitor) {});
  }

  bool meetsPrivd() {
    return until([this] { return events.there; });
  }
  template <typename Condition>
  bool until(Condition condition) {
    kj::Timer& timer = io.provider->getTimer();
    const auto end = timer.now() + 20 * kj::SECONDS;
    while (!condition() && timer.now() < end) {
      timer.afterDelay(1 * kj::MILLISECONDS).wait(io.waitScope);
    }
    return condition();
  }
  template <typename T>
  T await(kj::Promise<T> promise) {
    return promise.wait(io.waitScope);
  }
  PrivdLink& operator()() { return KJ_ASSERT_NONNULL(link); }

  kj::AsyncIoContext io = kj::setupAsyncIo();
  std::mt19937 random_{1};
  SilentEvents events;
  kj::Maybe<PrivdLink> link;
};

class PrivdDra : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:02:00.0", .group = 8});
    hardware.add({.address = "0000:3b:00.0", .group = 9});
  }
  bool startPrivd() {
    return node_->startPrivd({"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir",
                              node_->directory("cdi"), "--dra-driver", kDraDriver});
  }
  std::string said() { return node_->said(); }
  bool isThere(const std::string& path) { return fs::exists(fs::symlink_status(path)); }

  fs::path kubelet() { return node_->directory("kubelet"); }
  std::string registration() { return kubelet() / "plugins_registry" / (kDraDriver + "-reg.sock"); }
};

TEST_F(PrivdDra, TheSocketsLiveAsLongAsPlugindDoes) {
  fs::create_directories(kubelet() / "plugins_registry");
  std::optional<DraPeer> plugind(std::in_place, node_->plugindSocket());
  ASSERT_TRUE(startPrivd()) << said();
  ASSERT_TRUE(plugind->meetsPrivd()) << said();
  const auto service = plugind->await((*plugind)().listenForDra(kDraDriver, DraSocket::kService));
  ASSERT_TRUE(service) << service.error().why << said();
  EXPECT_EQ(service->endpoint, (kubelet() / "plugins" / kDraDriver / "dra.sock").string());
  const auto listener =
      plugind->await((*plugind)().listenForDra(kDraDriver, DraSocket::kRegistration));
  ASSERT_TRUE(listener) << listener.error().why << said();
  EXPECT_EQ(listener->endpoint, registration());
  // Who kills the gate leaves it to the plugind that lives on; so does a privd that comes back.
  const pid_t gate = childRunning(node_->privd->pid(), "privd-gate");
  ASSERT_GT(gate, 0);
  kill(gate, SIGKILL);
  EXPECT_EQ(node_->privd->wait(), 1) << said();
  EXPECT_TRUE(isThere(registration()));
  ASSERT_TRUE(plugind->until([&] { return !plugind->events.there; }));
  ASSERT_TRUE(startPrivd()) << said();
  EXPECT_TRUE(isThere(registration()));
  ASSERT_TRUE(plugind->meetsPrivd()) << said();
  EXPECT_TRUE(isThere(registration()));
  plugind.reset();
  ASSERT_TRUE(node_->privd->says("event=socket_withdrawn")) << said();
  EXPECT_FALSE(isThere(registration()));
}

TEST_F(PrivdDra, NoSocketIsLeftWhenPrivdEndsBeforePlugind) {
  fs::create_directories(kubelet() / "plugins_registry");
  DraPeer plugind(node_->plugindSocket());
  ASSERT_TRUE(startPrivd()) << said();
  ASSERT_TRUE(plugind.meetsPrivd()) << said();
  const auto listener = plugind.await(plugind().listenForDra(kDraDriver, DraSocket::kRegistration));
  ASSERT_TRUE(listener) << listener.error().why << said();
  node_->privd->signal(SIGTERM);
  ASSERT_TRUE(node_->privd->says("event=stopped")) << said();
  EXPECT_TRUE(fs::is_empty(kubelet() / "plugins_registry"));
}

TEST_F(PrivdDra, NoSocketIsLeftWhenPrivdIsKilledAndItsGateIsNot) {
  fs::create_directories(kubelet() / "plugins_registry");
  DraPeer plugind(node_->plugindSocket());
  ASSERT_TRUE(startPrivd()) << said();
  ASSERT_TRUE(plugind.meetsPrivd()) << said();
  const auto listener = plugind.await(plugind().listenForDra(kDraDriver, DraSocket::kRegistration));
  ASSERT_TRUE(listener) << listener.error().why << said();
  node_->privd.reset();  // alone
  EXPECT_TRUE(plugind.until([this] { return !isThere(registration()); }));
}

TEST_F(PrivdDra, WhatAPlugindLeftThatDiedWithPrivdIsWithdrawnAtStart) {
  fs::create_directories(kubelet() / "plugins_registry");
  for (const std::string& path :
       {registration(), (kubelet() / "plugins_registry/other-reg.sock").string()}) {
    const fs::path socket = path;
    ASSERT_TRUE(
        listenAt(socket.parent_path().c_str(), socket.filename().c_str(), WhoMayConnect::kOwner));
  }
  ASSERT_TRUE(startPrivd()) << said();
  EXPECT_FALSE(isThere(registration()));
  EXPECT_TRUE(isThere(kubelet() / "plugins_registry/other-reg.sock"));
}

TEST_F(PrivdDra, SpecsOfClaimsOutliveBothPrograms) {
  std::optional<DraPeer> plugind(std::in_place, node_->plugindSocket());
  ASSERT_TRUE(startPrivd()) << said();
  ASSERT_TRUE(plugind->meetsPrivd()) << said();
  ClaimSpec spec = claimSpec({"0000:02:00.0", "0000:3b:00.0"});
  spec.metadata = true;
  const auto written = plugind->await((*plugind)().writeClaimSpec(spec));
  ASSERT_TRUE(written) << written.error().why << said();
  EXPECT_EQ(written->size(), 2U);
  const fs::path metadata =
      kubelet() / "plugins" / kDraDriver / "dra-device-metadata" / (kClaimUid + "_gpu.json");
  EXPECT_TRUE(isThere(metadata));
  plugind.reset();
  node_->killPrivd();
  plugind.emplace(node_->plugindSocket());
  ASSERT_TRUE(startPrivd()) << said();
  ASSERT_TRUE(plugind->meetsPrivd()) << said();
  const auto texts = plugind->await((*plugind)().claimSpecTexts());
  ASSERT_TRUE(texts) << texts.error().why;
  ASSERT_EQ(texts->size(), 1U);
  const auto record = readClaimSpec(texts->front());
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(*record, spec);
  ASSERT_TRUE(plugind->await((*plugind)().unlinkClaimSpec(kClaimUid))) << said();
  EXPECT_TRUE(fs::is_empty(node_->directory("cdi")));
  EXPECT_FALSE(isThere(metadata));
}

}  // namespace
}  // namespace vfiogate::test
