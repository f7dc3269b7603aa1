// The stand-in kubelet against the smallest plugin: the edges of the
// contract's rows, where a slip would let a plugin pass that a real kubelet fails.

#include "tests/integration/tiny_plugin.h"
#include "tests/support/kubelet_sim/kubelet_sim.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <vector>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const std::string kGpu = "example.com/gpu";
const std::string kNic = "example.com/nic";

/// A bound socket at `path`; serving nothing, listening if `listens`.
int bindSocket(const std::string& path, bool listens) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << path;
  if (listens) {
    EXPECT_EQ(listen(fd, 8), 0);
  }
  return fd;
}

class KubeletEdges : public testing::Test {
protected:
  KubeletEdges() { fs::create_directory(deviceDir_); }

  std::string in(const std::string& name) const { return deviceDir_ + "/" + name; }

  /// A plugin for `resource`, registered, whose frame of healthy `ids` has arrived.
  std::unique_ptr<TinyPlugin> serve(const std::string& resource, const std::set<std::string>& ids,
                                    const std::string& socket = "p.sock") {
    auto plugin = std::make_unique<TinyPlugin>(in(socket));
    std::vector<TinyPlugin::Device> devices;
    for (const auto& id : ids) devices.push_back({id});
    plugin->show(devices);
    EXPECT_EQ(askToRegister(deviceDir_, socket, resource), "");
    EXPECT_TRUE(kubelet_.shows(resource, ids));
    return plugin;
  }

  Checkpoint checkpoint() const {
    std::ifstream file(in("kubelet_internal_checkpoint"));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto parsed = parseCheckpoint(text);
    EXPECT_TRUE(parsed) << "no valid checkpoint: " << text;
    return parsed.value_or(Checkpoint());
  }

  TempDir directory_;
  std::string deviceDir_ = directory_ / "device-plugins";
  KubeletSim kubelet_{directory_.path().string(),
                      {.dialWithin = std::chrono::milliseconds(500),
                       .optionsWithin = std::chrono::milliseconds(5000)}};
};

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

TEST_F(KubeletEdges, K6_AFrameOverFourMebibytesEndsTheStream) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->show({{std::string(5 << 20, 'x')}});
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a"})) << "capacity stays, nothing is allocatable";
}

TEST_F(KubeletEdges, K11_OneContainerRequestInADrawnOrder) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b", "c", "d", "e", "f"});
  std::set<std::vector<std::string>> orders;
  for (int i = 0; i < 8; ++i) {
    const std::string uid = "pod-" + std::to_string(i);
    EXPECT_TRUE(kubelet_.admit({uid, {}, {{"c", {{kGpu, 6}}}}}).admitted);
    orders.insert(plugin->allocations().back());
    kubelet_.end(uid);
  }
  EXPECT_GT(orders.size(), 1U) << "the order of ids is arbitrary";
  EXPECT_THAT(plugin->containerRequests(), testing::Each(1));
}

TEST_F(KubeletEdges, K11_InitDevicesAreOfferedAgain) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const auto admission = kubelet_.admit({"pod", {{"init", {{kGpu, 1}}}}, {{"app", {{kGpu, 1}}}}});
  ASSERT_TRUE(admission.admitted) << admission.message;
  ASSERT_THAT(plugin->allocations(), SizeIs(2));
  EXPECT_EQ(plugin->allocations()[0], plugin->allocations()[1]);
}

TEST_F(KubeletEdges, K11_AppContainersDoNotShare) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const auto admission = kubelet_.admit({"pod", {}, {{"one", {{kGpu, 1}}}, {"two", {{kGpu, 1}}}}});
  ASSERT_TRUE(admission.admitted) << admission.message;
  EXPECT_NE(plugin->allocations()[0], plugin->allocations()[1]);
}

TEST_F(KubeletEdges, K11_ARecordedContainerIsNotAskedForAgain) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  const PodSpec pod{"pod", {}, {{"c", {{kGpu, 1}}}}};
  EXPECT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_TRUE(kubelet_.admit(pod).admitted);
  EXPECT_THAT(plugin->allocations(), SizeIs(1));
}

TEST_F(KubeletEdges, K11_TooFewDevicesRejectWithoutACall) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto admission = kubelet_.admit({"two", {}, {{"c", {{kGpu, 2}}}}});
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.reason, "UnexpectedAdmissionError");
  EXPECT_THAT(plugin->allocations(), SizeIs(1));
}

TEST_F(KubeletEdges, K11_AnEndedPodsDevicesAreFreeAtTheNextAdmission) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_FALSE(kubelet_.admit({"two", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  kubelet_.end("one");
  EXPECT_TRUE(kubelet_.admit({"three", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletEdges, K14_EarlierSuccessesAreNotRolledBack) {
  kubelet_.start();
  const auto gpu = serve(kGpu, {"a"}, "gpu.sock");
  const auto nic = serve(kNic, {"n"}, "nic.sock");
  nic->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "no"}; });
  const auto admission = kubelet_.admit({"pod", {}, {{"one", {{kGpu, 1}}}, {"two", {{kNic, 1}}}}});
  EXPECT_FALSE(admission.admitted);
  EXPECT_THAT(admission.granted, SizeIs(1));
  EXPECT_THAT(gpu->allocations(), SizeIs(1)) << "the plugin hears nothing of it";
}

TEST_F(KubeletEdges, K15_AnEmptyReplyBlocksTheIdsUntilARecount) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"one", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.containers = 0}; });
  EXPECT_FALSE(kubelet_.admit({"two", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate({});
  EXPECT_FALSE(kubelet_.admit({"three", {}, {{"c", {{kGpu, 1}}}}}).admitted) << "still blocked";
  kubelet_.end("one");  // something to free, hence a recount
  EXPECT_TRUE(kubelet_.admit({"four", {}, {{"c", {{kGpu, 2}}}}}).admitted);
}

TEST_F(KubeletEdges, K21_IsWrittenOnFramesAndGrantsAlone) {
  kubelet_.start();
  EXPECT_EQ(kubelet_.checkpointWrites(), 0U);
  const auto plugin = serve(kGpu, {"a"});
  EXPECT_EQ(kubelet_.checkpointWrites(), 1U);
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_EQ(kubelet_.checkpointWrites(), 2U);
  kubelet_.end("pod");
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "no"}; });
  EXPECT_FALSE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_EQ(kubelet_.checkpointWrites(), 2U) << "freeing and refusals write nothing";
}

TEST_F(KubeletEdges, K21_NamesOnlyResourcesThatShowedAFrame) {
  kubelet_.start();
  EXPECT_EQ(kubelet_.frames(kNic), 0U);  // to ask is not to know
  const auto plugin = serve(kGpu, {"a"});
  const auto written = checkpoint();
  EXPECT_THAT(written.registered, SizeIs(1));
  EXPECT_EQ(written.entries, std::nullopt) << "null while no pod has a device";
}

TEST_F(KubeletEdges, K21_ARestartedKubeletKnowsItsPodsAndNoDevices) {
  kubelet_.start();
  auto plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  const auto held = plugin->allocations().front();
  plugin.reset();
  kubelet_.restart();
  EXPECT_THAT(kubelet_.resources(), ElementsAre(kGpu));
  EXPECT_EQ(kubelet_.devices(kGpu).capacity(), 0U);
  plugin = serve(kGpu, {"a", "b"});
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  EXPECT_NE(plugin->allocations().front(), held) << "what the first pod holds is taken";
}

TEST_F(KubeletEdges, K14_ARefusedIdIsFreeForTheNextPod) {
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  plugin->onAllocate([](const auto&) { return TinyPlugin::Reply{.error = "group 7 is busy"}; });
  EXPECT_FALSE(kubelet_.admit({"pod", {}, {{"c", {{kGpu, 1}}}}}).admitted);
  plugin->onAllocate({});
  EXPECT_TRUE(kubelet_.admit({"next", {}, {{"c", {{kGpu, 1}}}}}).admitted);
}

TEST_F(KubeletEdges, K9_TheEndOfAnOldStreamDisconnectsTheNewOne) {
  kubelet_.start();
  const auto first = serve(kGpu, {"a"}, "first.sock");
  const auto second = serve(kGpu, {"a", "b"}, "second.sock");
  first->endStreams();
  EXPECT_TRUE(kubelet_.shows(kGpu, {}, {"a", "b"}));
  EXPECT_TRUE(second->awaitCancelled(1)) << "the kubelet hangs up on whoever is current";
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
  kubelet_.start();
  const auto plugin = serve(kGpu, {"a"});
  std::promise<void> asked;
  std::promise<void> answer;
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

}  // namespace
}  // namespace vfiogate::sim
