// The stand-in kubelet, plugin watcher: whom it finds in plugins_registry, and what it tells them.

#include "sim/kubelet/watcher_client.h"
#include "tests/integration/kubelet/kubelet_edges.h"
#include "tests/integration/kubelet/tiny_registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KubeletOptions hasty() {
  return {.dialWithin = milliseconds(500),
          .watch = {.every = milliseconds(20),
                    .dial = milliseconds(5000),
                    .info = milliseconds(1500),
                    .notify = milliseconds(1500),
                    .firstRetry = milliseconds(50),
                    .longestRetry = milliseconds(100)}};
}

class KubeletWatcher : public KubeletEdges {
protected:
  explicit KubeletWatcher(const KubeletOptions& options = hasty()) : KubeletEdges(options) {
    fs::create_directory(registry_);
  }
  /// Appears at `name` in the registry.
  TinyRegistration& appear(const std::string& name, const std::string& type = "DRAPlugin",
                           const std::vector<std::string>& versions = {"v1.DRAPlugin"},
                           const std::string& plugin = "vfio.example.com",
                           const std::string& endpoint = "") {
    registration_.reset();
    registration_.emplace(registry_ + "/" + name, type, plugin, versions, endpoint);
    return *registration_;
  }
  /// One that is found later than all before it: what came before was not found at all.
  void awaitAnother() {
    TinyRegistration last(registry_ + "/zz-" + std::to_string(++others_) + ".sock", "DRAPlugin",
                          "last.example.com", {"v1.DRAPlugin"});
    EXPECT_TRUE(last.awaitNotices(1));
  }
  static bool told(TinyRegistration& registration, std::size_t count, bool registered) {
    return registration.awaitNotices(count) &&
           registration.notices().at(count - 1).registered == registered;
  }

  const std::string registry_ = directory_ / "plugins_registry";
  std::optional<TinyRegistration> registration_;
  int others_ = 0;
};

TEST_F(KubeletWatcher, K23_AsksWhoAppearsAndTellsThatItIsRegistered) {
  kubelet_.start();
  auto& plugin = appear("x-reg.sock");
  EXPECT_TRUE(told(plugin, 1, true));
  EXPECT_THAT(kubelet_.watchedPlugins(), ElementsAre("DRAPlugin vfio.example.com v1.DRAPlugin"));
}

TEST_F(KubeletWatcher, K23_FindsWhoWasThereBeforeIt) {
  auto& plugin = appear("x-reg.sock");
  kubelet_.start();
  EXPECT_TRUE(told(plugin, 1, true));
}

TEST_F(KubeletWatcher, K23_LooksIntoDirectoriesNewAndOld) {
  fs::create_directory(registry_ + "/old");
  kubelet_.start();
  EXPECT_TRUE(told(appear("old/x.sock"), 1, true));
  fs::create_directories(registry_ + "/new/deep");
  EXPECT_TRUE(
      told(appear("new/deep/x.sock", "DRAPlugin", {"v1.DRAPlugin"}, "y.example.com"), 1, true));
}

TEST_F(KubeletWatcher, K23_NamesWithADotAndOtherFilesAreIgnored) {
  kubelet_.start();
  auto& hidden = appear(".x.sock");
  std::ofstream(registry_ + "/file") << "no socket";
  awaitAnother();
  EXPECT_EQ(hidden.asked(), 0U);
}

TEST_F(KubeletWatcher, K23_MovedIntoPlaceItIsFoundAndMovedAwayItIsNotMissed) {
  kubelet_.start();
  auto& plugin = appear(".new.sock");
  fs::rename(registry_ + "/.new.sock", registry_ + "/x.sock");
  ASSERT_TRUE(told(plugin, 1, true));
  fs::rename(registry_ + "/x.sock", registry_ + "/.away.sock");
  awaitAnother();
  EXPECT_THAT(kubelet_.watchedPlugins(), testing::Contains(HasSubstr("vfio.example.com")));
}

TEST_F(KubeletWatcher, K23_WhatItCannotUseIsToldWhyAndTriedAgain) {
  kubelet_.start();
  auto& plugin = appear("x.sock", "StoragePlugin");
  ASSERT_TRUE(told(plugin, 2, false));
  EXPECT_THAT(plugin.notices()[0].error, HasSubstr("StoragePlugin"));
  auto& old = appear("y.sock", "DRAPlugin", {"1.0.0"});
  ASSERT_TRUE(told(old, 1, false));
  EXPECT_THAT(old.notices()[0].error, HasSubstr("versions"));
}

TEST_F(KubeletWatcher, K23_AnUnlinkedSocketIsDroppedAndARecreatedOneRegisteredAgain) {
  kubelet_.start();
  ASSERT_TRUE(told(appear("x.sock"), 1, true));
  fs::remove(registry_ + "/x.sock");
  EXPECT_TRUE(kubelet_.awaitWatchedPlugins({}));
  EXPECT_TRUE(told(appear("x.sock"), 1, true));
}

TEST_F(KubeletWatcher, K23_ARecreatedSocketIsRegisteredAnewWithoutAGap) {
  kubelet_.start();
  ASSERT_TRUE(told(appear("x.sock"), 1, true));
  fs::remove(registry_ + "/x.sock");
  EXPECT_TRUE(told(appear("x.sock"), 1, true));
}

TEST_F(KubeletWatcher, K23_GetInfoHasItsLimitAndIsAskedAgain) {
  kubelet_.start();
  auto& plugin = appear("x.sock");
  plugin.answerAfter(std::chrono::seconds(30), milliseconds(0));
  EXPECT_TRUE(plugin.awaitAsked(2));
  EXPECT_THAT(plugin.notices(), IsEmpty()) << "it hears nothing of it";
}

TEST_F(KubeletWatcher, K23_ANoticeThatTakesTooLongUndoesTheRegistration) {
  kubelet_.start();
  TinyPlugin devices(in("p.sock"));
  devices.show({{"a"}});
  auto& plugin = appear("x.sock", "DevicePlugin", {"v1beta1"}, kGpu, in("p.sock"));
  plugin.answerAfter(milliseconds(0), std::chrono::seconds(30));
  EXPECT_TRUE(told(plugin, 1, true));
  EXPECT_TRUE(devices.awaitCancelled(1)) << "its stream, which had begun";
  EXPECT_TRUE(told(plugin, 2, true)) << "and again and again";
}

TEST_F(KubeletWatcher, K23_ADevicePluginIsServedFromItsEndpoint) {
  kubelet_.start();
  TinyPlugin devices(in("p.sock"));
  devices.show({{"a"}});
  auto& plugin = appear("x.sock", "DevicePlugin", {"v1beta1"}, kGpu, in("p.sock"));
  ASSERT_TRUE(told(plugin, 1, true));
  EXPECT_TRUE(kubelet_.shows(kGpu, {"a"}));
  devices.endStreams();
  ASSERT_TRUE(kubelet_.shows(kGpu, {}, {"a"}));
  awaitAnother();
  EXPECT_EQ(plugin.asked(), 1U) << "while its socket stays nobody registers it again";
}

TEST_F(KubeletWatcher, K23_ADevicePluginWhoseSocketGoesIsDisconnected) {
  kubelet_.start();
  TinyPlugin devices(in("p.sock"));
  devices.show({{"a"}});
  appear("x.sock", "DevicePlugin", {"v1beta1"}, kGpu, in("p.sock"));
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a"}));
  ASSERT_TRUE(registration_->awaitNotices(1));
  fs::remove(registry_ + "/x.sock");
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a"}));
  EXPECT_TRUE(devices.awaitCancelled(1));
}

TEST_F(KubeletWatcher, K23_ADevicePluginsNameAndVersionAreJudged) {
  kubelet_.start();
  auto& unnamed = appear("x.sock", "DevicePlugin", {"v1beta1"}, "gpu");
  ASSERT_TRUE(told(unnamed, 1, false));
  EXPECT_THAT(unnamed.notices()[0].error, HasSubstr("invalid resource name gpu"));
  EXPECT_TRUE(told(appear("y.sock", "DevicePlugin", {"v1"}, kGpu), 1, false));
}

TEST_F(KubeletWatcher, K23_ARestartedKubeletRegistersAgain) {
  kubelet_.start();
  auto& plugin = appear("x.sock");
  ASSERT_TRUE(told(plugin, 1, true));
  kubelet_.restart();
  EXPECT_TRUE(told(plugin, 2, true));
}

/// Once something has failed it is not tried again while a test runs.
class ReluctantWatcher : public KubeletWatcher {
protected:
  static KubeletOptions reluctant() {
    KubeletOptions options = hasty();
    options.watch.firstRetry = std::chrono::minutes(10);
    options.watch.info = options.watch.notify = std::chrono::seconds(20);  // nothing fails for it
    return options;
  }
  ReluctantWatcher() : KubeletWatcher(reluctant()) {}
};

TEST_F(ReluctantWatcher, K23_WhatFailedRestsAlsoIfItsSocketIsMadeAnew) {
  kubelet_.start();
  ASSERT_TRUE(told(appear("x.sock", "StoragePlugin"), 1, false));
  awaitAnother();
  EXPECT_EQ(registration_->asked(), 1U);
  fs::remove(registry_ + "/x.sock");
  auto& again = appear("x.sock");
  awaitAnother();
  EXPECT_EQ(again.asked(), 0U) << "the rest is the path's";
  EXPECT_TRUE(told(appear("y.sock"), 1, true)) << "others are none the worse for it";
}

/// With the real one's second between two polls.
class PatientWatcher : public KubeletWatcher {
protected:
  PatientWatcher() : KubeletWatcher({.dialWithin = milliseconds(500)}) {}
};

TEST_F(PatientWatcher, K23_PollsOnceASecond) {
  kubelet_.start();
  ASSERT_TRUE(told(appear("a.sock"), 1, true));
  const auto begin = std::chrono::steady_clock::now();
  fs::remove(registry_ + "/a.sock");
  ASSERT_TRUE(told(appear("a.sock"), 1, true));
  const auto passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(passed, milliseconds(900)) << "dropped at one poll, registered at the next";
}

TEST_F(KubeletWatcher, K24_NamesTheEncodedPathOnARegistrationSocket) {
  EXPECT_EQ(encodedAuthority("/var/lib/kubelet/plugins_registry/x-reg.sock"),
            "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fx-reg.sock");
  kubelet_.start();
  auto& plugin = appear("x-reg.sock");
  ASSERT_TRUE(plugin.awaitAsked(1));
  EXPECT_EQ(plugin.authority(), encodedAuthority(registry_ + "/x-reg.sock"));
}

TEST_F(KubeletWatcher, K24_TheConnectionIsClosedAfterARegistration) {
  kubelet_.start();
  // Its service is elsewhere: to that there is a connection for good.
  auto& plugin = appear("x.sock", "DRAPlugin", {"v1.DRAPlugin"}, "vfio.example.com",
                        directory_ / "elsewhere.sock");
  ASSERT_TRUE(told(plugin, 1, true));
  EXPECT_TRUE(plugin.awaitHungUp());
}

TEST_F(KubeletWatcher, K24_NamesLocalhostToADevicePlugin) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_EQ(plugin->authority(), "localhost");
}

}  // namespace
}  // namespace vfiogate::sim
