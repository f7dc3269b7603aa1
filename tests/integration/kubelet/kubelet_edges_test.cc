// The stand-in kubelet against the smallest plugin: the edges of the
// contract's rows, where a slip would let a plugin pass that a real kubelet fails.

#include "tests/integration/kubelet/kubelet_edges.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// What became of names in a directory, in order, as "created NAME" and so on.
class NameEvents {
public:
  explicit NameEvents(const std::string& directory)
      : watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(watch_, directory.c_str(),
                                IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MODIFY),
              0);
  }
  ~NameEvents() { close(watch_); }
  NameEvents(const NameEvents&) = delete;
  NameEvents& operator=(const NameEvents&) = delete;

  std::vector<std::string> all() const {
    alignas(inotify_event) std::array<char, 4096> buffer{};
    const ssize_t size = read(watch_, buffer.data(), buffer.size());
    std::vector<std::string> said;
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string name = buffer.data() + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      for (const auto& [bit, verb] :
           {std::pair(IN_CREATE, "created "), std::pair(IN_DELETE, "deleted "),
            std::pair(IN_MOVED_TO, "moved "), std::pair(IN_MODIFY, "changed ")}) {
        if ((event.mask & static_cast<std::uint32_t>(bit)) != 0) said.push_back(verb + name);
      }
    }
    return said;
  }

private:
  int watch_;
};

TEST_F(KubeletEdges, K1_ItsSocketComesAfterTheSweep) {
  kubelet_.start();
  kubelet_.stop();
  const int one = bindSocket(in("one.sock"), true);
  const int other = bindSocket(in("zwei.sock"), true);
  const NameEvents events(deviceDir_);
  kubelet_.start();
  const auto said = events.all();
  ASSERT_THAT(said, testing::IsSupersetOf(
                        {"deleted one.sock", "deleted zwei.sock", "deleted kubelet.sock"}));
  EXPECT_EQ(said.back(), "created kubelet.sock");
  close(one);
  close(other);
}

TEST_F(KubeletEdges, K21_IsMovedIntoPlace) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  const NameEvents events(deviceDir_);
  plugin->show({{"a"}, {"b"}});
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a", "b"}));
  const auto said = events.all();
  EXPECT_THAT(said, testing::Contains("moved kubelet_internal_checkpoint"));
  EXPECT_THAT(said, testing::Not(testing::Contains("changed kubelet_internal_checkpoint")))
      << "whoever reads it sees one version, whole";
}

TEST_F(KubeletEdges, K1_StopLeavesItsSocketWithoutAnEvent) {
  kubelet_.start();
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ASSERT_GE(inotify_add_watch(watch, deviceDir_.c_str(), IN_CREATE | IN_DELETE | IN_MOVE), 0);
  kubelet_.stop();
  std::array<char, 1024> events{};
  EXPECT_EQ(read(watch, events.data(), events.size()), -1) << "a killed process touches no file";
  EXPECT_TRUE(fs::is_socket(in("kubelet.sock")));
  close(watch);
}

TEST_F(KubeletEdges, K1_RestartMakesANewSocket) {
  kubelet_.start();
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat(in("kubelet.sock").c_str(), &before), 0);
  kubelet_.restart();
  ASSERT_EQ(stat(in("kubelet.sock").c_str(), &after), 0);
  EXPECT_NE(std::make_pair(before.st_ino, before.st_ctim.tv_nsec),
            std::make_pair(after.st_ino, after.st_ctim.tv_nsec));
}

TEST_F(KubeletEdges, K3_APluginThatDoesNotServeIsWaitedForThenRefused) {
  kubelet_.start();
  const int mute = bindSocket(in("mute.sock"), true);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(askToRegister(deviceDir_, "mute.sock", kGpu), HasSubstr("2: "));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(450));
  close(mute);
}

TEST_F(KubeletEdges, K3_TheCallersDeadlineCountsIfItIsTheShorter) {
  KubeletSim slow(directory_.path().string(), {.dialWithin = std::chrono::minutes(10)});
  slow.start();
  const int mute = bindSocket(in("mute.sock"), true);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint("mute.sock");
  request.set_resource_name(kGpu);
  const auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(200);
  EXPECT_THAT(slow.registerPlugin(request, deadline), HasSubstr("deadline"));
  EXPECT_GE(std::chrono::system_clock::now(), deadline);
  close(mute);
}

TEST_F(KubeletEdges, AKubeletCanAnswerLate) {
  kubelet_.start();
  kubelet_.answerLate(std::chrono::milliseconds(300));
  const auto begin = std::chrono::steady_clock::now();
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
}

TEST_F(KubeletEdges, AKubeletTellsWhatPluginsDo) {
  std::mutex mutex;
  std::vector<std::string> told;
  {
    KubeletSim telling(directory_.path().string(), {.told = [&](const std::string& what) {
                         const std::lock_guard lock(mutex);
                         told.push_back(what);
                       }});
    telling.start();
    TinyPlugin plugin(in("p.sock"));
    plugin.show({{"a"}});
    ASSERT_EQ(askToRegister(deviceDir_, "p.sock", kGpu), "");
    ASSERT_TRUE(telling.shows(kGpu, {"a"}));
    plugin.endStreams();
    ASSERT_TRUE(telling.shows(kGpu, {}, {"a"}));
  }
  EXPECT_THAT(told,
              ElementsAre("the kubelet is up", "Register " + kGpu + " at p.sock",
                          "registered " + kGpu, "frame of " + kGpu + ": 1 healthy, 0 unhealthy",
                          "a stream of " + kGpu + " has ended", "the kubelet is gone"));
}

TEST_F(KubeletEdges, K6_AFrameOverFourMebibytesEndsTheStream) {
  if (test::kWatchesThreads) GTEST_SKIP() << "each word that gRPC sends is judged: minutes";
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->show({{std::string(5 << 20, 'x')}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a"})) << "capacity stays, nothing is allocatable";
}

TEST_F(KubeletEdges, AKubeletCanHangUpAfterSomeFrames) {
  kubelet_.start();
  kubelet_.closeStreamAfterFrames(2);
  const auto plugin = serve(kGpu, {"a"});
  plugin->show({{"a"}, {"b"}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
  EXPECT_TRUE(plugin->awaitCancelled(1));
}

TEST_F(KubeletEdges, AKubeletCanRefuseInGivenWords) {
  kubelet_.start();
  kubelet_.behave(Manner::kRefuses, "the disk is full");
  EXPECT_EQ(askToRegister(deviceDir_, "p.sock", kGpu), "2: the disk is full");
}

TEST_F(KubeletEdges, AKubeletCanDieBetweenTheReplyAndTheRecord) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a"});
  kubelet_.dieInAllocate();
  const auto admission = kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}});
  EXPECT_TRUE(admission.kubeletDied);
  EXPECT_FALSE(admission.admitted);
  EXPECT_THAT(plugin->allocations(), SizeIs(1)) << "the plugin has granted";
  EXPECT_EQ(checkpoint().entries, std::nullopt) << "and nobody wrote it down";
  plugin.reset();
  kubelet_.start();
  plugin = serve(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted) << "asked again";
}

TEST_F(KubeletEdges, AKubeletThatDiesEndsTheAllocateUnderWay) {
  std::promise<void> asked;  // before the plugin, which may still be in the call at the end
  std::promise<void> answer;
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->onAllocate([&](const auto&) {
    asked.set_value();
    answer.get_future().wait();
    return TinyPlugin::Reply{};
  });
  auto admission = std::async(std::launch::async, [this]() {
    return kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}});
  });
  asked.get_future().wait();
  kubelet_.stop();
  const bool ended = admission.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  answer.set_value();
  EXPECT_TRUE(ended) << "the call outlived the kubelet";
  EXPECT_TRUE(admission.get().kubeletDied);
}

TEST_F(KubeletEdges, AKubeletThatStopsGivesUpItsDial) {
  KubeletSim slow(directory_.path().string(), {.dialWithin = std::chrono::minutes(10)});
  slow.start();
  const int mute = bindSocket(in("mute.sock"), true);
  auto registering = std::async(std::launch::async,
                                [this]() { return askToRegister(deviceDir_, "mute.sock", kGpu); });
  const int dialled = accept4(mute, nullptr, nullptr, SOCK_CLOEXEC);
  const auto begin = std::chrono::steady_clock::now();
  slow.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_NE(registering.get(), "");
  close(dialled);
  close(mute);
}

TEST_F(KubeletEdges, K10_AFailedRegisterDoesNotWaitForTheStreamThatItTakesAway) {
  kubelet_.start();
  const int mute = bindSocket(in("mute.sock"), true);
  auto failing = std::async(std::launch::async,
                            [this]() { return askToRegister(deviceDir_, "mute.sock", kGpu); });
  const int dialled =
      accept4(mute, nullptr, nullptr, SOCK_CLOEXEC);  // now the first Register is in its dial
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_NE(failing.get(), "");
  EXPECT_TRUE(plugin->awaitStreams(1));
  close(dialled);
  close(mute);
}

}  // namespace
}  // namespace vfiogate::sim
