// Whoever has put himself in the kubelet's place, or beside it.

#include "proto/deviceplugin.grpc.pb.h"
#include "tests/integration/netd_case.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/stranger.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <vector>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

class ForgedKubelet : public NetdCase {
protected:
  std::string checkpoint() const {
    return node_->directory("kubelet/device-plugins/kubelet_internal_checkpoint");
  }
  std::string pluginSocket() const {
    for (const auto& entry : fs::directory_iterator(node_->directory("kubelet/device-plugins"))) {
      if (entry.path().filename().string().starts_with("vfiogate-")) return entry.path();
    }
    return {};
  }
  void expectServed() {
    EXPECT_TRUE(servesOthers(*node_->privd, node_->directory("state"))) << node_->said();
    EXPECT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  }
  /// The right one comes back.
  void expectAllocates() {
    node_->kubelet.restart();
    ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"})) << node_->said();
    EXPECT_TRUE(node_->kubelet.admit(podOf("pod-1", kGpus)).admitted) << node_->said();
  }
};

// Opening one would wait for ever.
TEST_F(ForgedKubelet, AFifoAsCheckpointHoldsNobodyUp) {
  startAll();
  ASSERT_EQ(mkfifo((checkpoint() + ".new").c_str(), 0600), 0);
  fs::rename(checkpoint() + ".new", checkpoint());
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);  // whatever it says, it is answered
  expectServed();
  fs::remove(checkpoint());
  expectAllocates();
}

TEST_F(ForgedKubelet, AHugeCheckpointIsNotRead) {
  startAll();
  expectServed();
  const ProcessSize before = sizeOf(node_->plugind->pid());
  std::ofstream(checkpoint() + ".new") << "{";
  fs::resize_file(checkpoint() + ".new", std::uintmax_t{1} << 36U);  // a hole of 64 GiB
  fs::rename(checkpoint() + ".new", checkpoint());
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
  expectServed();
  const ProcessSize after = sizeOf(node_->plugind->pid());
  if (kOwnAllocator) {
    EXPECT_LT(after.residentKib, before.residentKib + 8'192) << after.str();
  }
  fs::remove(checkpoint());
  expectAllocates();
}

TEST_F(ForgedKubelet, ALinkAsCheckpointIsNotFollowed) {
  startAll();
  fs::create_symlink("/etc/shadow", checkpoint() + ".new");
  fs::rename(checkpoint() + ".new", checkpoint());
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
  expectServed();
  EXPECT_THAT(node_->said(), testing::Not(testing::HasSubstr("root:")));
  fs::remove(checkpoint());
  expectAllocates();
}

// Even where the socket's mode lets somebody in, who it is counts.
TEST_F(ForgedKubelet, OnlyRootIsHeardAtAPluginsSocket) {
  startAll();
  const std::string socketPath = pluginSocket();
  ASSERT_EQ(chmod(socketPath.c_str(), 0666), 0);
  const int outcome = asStranger([&] {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, socketPath.c_str(), sizeof(address.sun_path) - 1);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return errno;
    }
    char byte = 0;
    return read(fd, &byte, 1) <= 0 ? 0 : 1;  // a server of gRPC speaks first
  });
  EXPECT_EQ(outcome, 0) << "it was served";
  EXPECT_TRUE(node_->plugind->saysAll({"event=peer_refused", "uid=65534"})) << node_->said();
}

TEST_F(ForgedKubelet, AThousandStreamsHoldNobodyUp) {
  startAll();
  const ProcessSize before = sizeOf(node_->plugind->pid());
  struct Stream {
    explicit Stream(v1beta1::DevicePlugin::Stub& stub) : reader(stub.ListAndWatch(&context, {})) {}
    ~Stream() { context.TryCancel(); }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> reader;
  };
  {
    std::list<std::unique_ptr<v1beta1::DevicePlugin::Stub>> stubs;
    std::list<Stream> streams;  // never read from
    for (int i = 0; i < 32; ++i) {
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs.push_back(v1beta1::DevicePlugin::NewStub(grpc::CreateCustomChannel(
          "unix:" + pluginSocket(), grpc::InsecureChannelCredentials(), own)));
      for (int k = 0; k < 32; ++k) streams.emplace_back(*stubs.back());
    }
    expectServed();
    const ProcessSize meanwhile = sizeOf(node_->plugind->pid());
    if (kOwnAllocator) {
      EXPECT_LT(meanwhile.residentKib, before.residentKib + 65'536) << meanwhile.str();
    }
  }
  expectAllocates();
}

// The server says so, and gRPC's client keeps to it: the 33rd waits on the other side.
TEST_F(ForgedKubelet, OfOneConnectionThirtyTwoCallsAreOpen) {
  constexpr std::size_t kMost = 32;
  startAll();
  const auto stub = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix:" + pluginSocket(), grpc::InsecureChannelCredentials()));
  const auto answers = [&stub](std::chrono::milliseconds patience) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    v1beta1::DevicePluginOptions options;
    return stub->GetDevicePluginOptions(&context, {}, &options).error_code();
  };
  std::list<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>>> streams;
  for (std::size_t i = 0; i < kMost; ++i) {
    EXPECT_EQ(answers(kPatience), grpc::StatusCode::OK) << i << " are open";
    streams.push_back(stub->ListAndWatch(&contexts.emplace_back(), {}));
    v1beta1::ListAndWatchResponse shown;
    ASSERT_TRUE(streams.back()->Read(&shown));
  }
  EXPECT_EQ(answers(std::chrono::milliseconds(300)), grpc::StatusCode::DEADLINE_EXCEEDED);
  contexts.front().TryCancel();
  EXPECT_EQ(answers(kPatience), grpc::StatusCode::OK);
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (const auto& stream : streams) stream->Finish();
}

TEST_F(ForgedKubelet, AnAllocateOfNonsenseIsRefused) {
  startAll();
  const auto stub = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix:" + pluginSocket(), grpc::InsecureChannelCredentials()));
  for (const std::string& id : {std::string("../../etc/passwd"), std::string(100'000, 'x'),
                                std::string(), std::string("0000:99:00.0")}) {
    grpc::ClientContext context;
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids(id);
    v1beta1::AllocateResponse answer;
    EXPECT_FALSE(stub->Allocate(&context, request, &answer).ok()) << id.substr(0, 40);
    EXPECT_EQ(answer.container_responses_size(), 0);
  }
  expectServed();
  expectAllocates();
}

}  // namespace
}  // namespace vfiogate::test
