// The traps of kubelet-contract.md 8 about registrations, restarts and sockets.

#include "tests/integration/timelines/traps.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>

namespace vfiogate::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

// "Start the new instance, register, stop the old": the end of the old stream takes the new
// registration along. The new one waits until the old one is gone.
TEST_F(Traps, T3_TheNewInstanceRegistersWhenTheOldOneIsGone) {
  start();
  SplitNode::Pair second(*node_, "second");
  ASSERT_TRUE(second.privd.says("event=instance_waits")) << second.privd.output();
  EXPECT_EQ(kubelet().registrations(kGpu), 1U);
  node_->plugind->signal(SIGTERM);
  node_->privd->signal(SIGTERM);
  ASSERT_EQ(node_->plugind->wait(), 0) << said();
  ASSERT_EQ(node_->privd->wait(), 0) << said();
  ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, 2)) << second.plugind.output();
  ASSERT_TRUE(shows(kGpu, {kA})) << second.plugind.output();
  ASSERT_TRUE(node_->seen()) << "news come over the new stream" << second.plugind.output();
  EXPECT_EQ(kubelet().streamsEnded(kGpu), 1U) << "the old one's";
  EXPECT_EQ(kubelet().registrations(kGpu), 2U);
}

// The same trap: a stream that ends unasked is a reason to register again.
TEST_F(Traps, T3_AStreamThatTheKubeletEndsIsRegisteredAgain) {
  start();
  ASSERT_TRUE(shows(kOther, {kB})) << said();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  kubelet().dropStream(kGpu);
  ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, 2)) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_EQ(kubelet().nodeStatus().at(kGpu), (sim::NodeCounts{1, 1}));
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
}

// "A failed re-register is harmless": it takes the registration that stood. Nothing registers while
// a stream stands, and a refusal is followed by another try.
TEST_F(Traps, T4_ARefusedRegistrationIsTriedUntilItStands) {
  start();
  kubelet().behave(sim::Manner::kRefuses, "no room at the inn");
  kubelet().dropStream(kGpu);
  ASSERT_TRUE(node_->plugind->says("no room at the inn")) << said();
  // The kubelet notices the end of its stream by itself, maybe after the refusal.
  ASSERT_TRUE(shows(kGpu, {}, {kA})) << said();
  EXPECT_EQ(kubelet().nodeStatus().at(kGpu).allocatable, 0U);
  kubelet().behave(sim::Manner::kRegisters);
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  const std::size_t registrations = kubelet().registrations(kGpu);
  kubelet().dropStream(kGpu);  // the kubelet notices: the table's entry is whole
  ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, registrations + 1)) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
}

// "Pods survive a kubelet restart": those with a completed init container only if the first frame
// is there in time.
TEST_F(Traps, T8_TheFirstFrameIsThereBeforePodsAreJudged) {
  start();
  ASSERT_TRUE(kubelet().admit(withInit("p1")).admitted);
  ASSERT_EQ(startContainer("p1", "init"), "");
  kubelet().stopContainer("p1", "init");
  ASSERT_EQ(startContainer("p1"), "") << said();
  const auto began = std::chrono::steady_clock::now();
  kubelet().restart({.sourcesReady = false});
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  std::cout << "the first frame came after " << took.count() << " ms\n";
  const auto again = kubelet().admit(withInit("p1"));
  EXPECT_TRUE(again.admitted) << again.message;
  kubelet().sourcesReady();
}

// "The PreStart hook always runs": not between a kubelet's restart and the registration. The
// checkpoint tells who has the group.
TEST_F(Traps, T17_AContainerThatStartedWithoutTheHookIsKnown) {
  start();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  node_->killPlugind();
  kubelet().restart();
  ASSERT_EQ(startContainer("p1"), "") << "no hook is known";
  hardware().setEnable(kA, 1);
  ASSERT_TRUE(node_->startPlugind(config_)) << said();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  ASSERT_TRUE(kubelet().awaitFrames(kOther, 1)) << said();
  EXPECT_TRUE(node_->tells("adopted", kA)) << said();
  EXPECT_THAT(offerAdopted(kOther, kB), AnyOf(HasSubstr("not-shown"), HasSubstr("group-allocated")))
      << "its sibling: the list without it is on its way, or there";
}

// "Watch my own socket": the kubelet that swept it may sweep again. Only its own socket's creation
// counts, and each is followed by one registration over a new socket.
TEST_F(Traps, T19_SocketsAreMadeAnewForEachKubeletAndForNothingElse) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}));
  const auto sockets = ownSockets();
  ASSERT_EQ(sockets.size(), 3U) << "two resources and the marker's";
  for (const auto& [name, inode] : sockets) std::filesystem::remove(pluginDirectory() / name);
  ASSERT_TRUE(node_->seen()) << "streams go on" << said();
  EXPECT_THAT(ownSockets(), IsEmpty());
  EXPECT_EQ(kubelet().registrations(kGpu), 1U);
  for (int restarts = 0; restarts < 5; ++restarts) {
    kubelet().restart();
    ASSERT_TRUE(shows(kGpu, {kA})) << said();
    ASSERT_TRUE(shows(kOther, {kB})) << said();
    ASSERT_TRUE(node_->seen()) << said();
    EXPECT_EQ(kubelet().registrations(kGpu), 1U) << "with this one";
    EXPECT_EQ(ownSockets().size(), 3U);
  }
}

// "Options in the RegisterRequest" are ignored: they are answered when asked for, so PreStart is
// on.
TEST_F(Traps, T20_TheHookIsOn) {
  start();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  hardware().setDriver(kA, "nouveau");
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("not-viable"));
}

// "Registration first": the kubelet uses the socket at once, and refuses who does not serve yet.
TEST_F(Traps, T21_WhatRegistersIsServedAlready) {
  start();
  for (std::size_t times = 2; times < 7; ++times) {
    kubelet().dropStream(kGpu);
    ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, times)) << said();
    ASSERT_TRUE(shows(kGpu, {kA})) << said();
  }
  EXPECT_EQ(node_->plugind->count("event=register_failed"), 0U) << said();
}

// The same trap, its end: nothing of the kubelet's is unlinked, nor of other plugins.
TEST_F(Traps, T21_LeavingTouchesNoFile) {
  start();
  const auto sockets = ownSockets();
  node_->plugind->signal(SIGTERM);
  node_->privd->signal(SIGTERM);
  EXPECT_EQ(node_->plugind->wait(), 0) << said();
  EXPECT_EQ(node_->privd->wait(), 0) << said();
  EXPECT_EQ(ownSockets(), sockets) << "the kubelet sweeps them at its start";
  EXPECT_TRUE(std::filesystem::exists(pluginDirectory() / "kubelet.sock"));
  EXPECT_TRUE(std::filesystem::exists(pluginDirectory() / "kubelet_internal_checkpoint"));
}

// "Rename the socket away to deregister": nobody sees that. A new one is renamed over it.
TEST_F(Traps, T22_ASocketThatWasRenamedAwayIsNoDeregistration) {
  start();
  for (const auto& [name, inode] : ownSockets()) {
    std::filesystem::rename(pluginDirectory() / name, pluginDirectory() / ("gone-" + name));
  }
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().streamsEnded(kGpu), 0U);
  kubelet().dropStream(kGpu);
  ASSERT_TRUE(kubelet().awaitRegistrations(kGpu, 2)) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
}

// "A new socket clears the backoff", "a slow NotifyRegistrationStatus is harmless": both are the
// plugin watcher's, who never meets a device plugin of ours. Nothing is put into its directory.
TEST_F(Traps, T23_T24_ThePluginWatchersDirectoryIsLeftAlone) {
  start();
  kubelet().restart();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  restartPlugind();
  ASSERT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(kubelet().watchedPlugins(), IsEmpty());
  const std::filesystem::path registry = node_->directory("kubelet/plugins_registry");
  if (std::filesystem::exists(registry)) {
    EXPECT_TRUE(std::filesystem::is_empty(registry));
  }
}

}  // namespace
}  // namespace vfiogate::test
