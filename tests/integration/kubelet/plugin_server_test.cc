// The gRPC side of a resource on passed descriptors, in one process with its client.

#include "plugind/kubelet/plugin_server.h"
#include "proto/deviceplugin.grpc.pb.h"
#include "tests/integration/loop_stage.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <kj/debug.h>

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

ResourceName resourceName() {
  return *ResourceName::parse("vfiogate.dev/10de_2684");
}

/// Keeps what the server told, and wakes whoever waits for it.
class Recorder final : public PluginEvents, public Wakes {
public:
  void streamOpened(const ResourceName& /*resource*/,
                    std::shared_ptr<ListWatchStream> stream) override {
    streams.push_back(std::move(stream));
    wake();
  }
  void streamEnded(const ResourceName& /*resource*/, const ListWatchStream& /*stream*/) override {
    ++ended;
    wake();
  }
  void allocateAsked(const ResourceName& /*resource*/,
                     std::shared_ptr<AllocateCall> call) override {
    calls.push_back(std::move(call));
    wake();
  }
  void preferenceAsked(const ResourceName& /*resource*/,
                       std::shared_ptr<PreferCall> call) override {
    if (call->claim()) call->answer({{"asked"}});
  }
  void startAsked(const ResourceName& /*resource*/, std::shared_ptr<StartCall> call) override {
    if (call->claim()) call->pass();
  }
  void callCancelled(const std::shared_ptr<KubeletCall>& /*call*/) override {
    ++cancelled;
    wake();
  }

  std::vector<std::shared_ptr<ListWatchStream>> streams;
  std::vector<std::shared_ptr<AllocateCall>> calls;
  int ended = 0;
  int cancelled = 0;
};

/// What a call comes to; blocks.
grpc::StatusCode codeOf(v1beta1::DevicePlugin::Stub& stub) {
  grpc::ClientContext context;
  v1beta1::DevicePluginOptions answer;
  return stub.GetDevicePluginOptions(&context, {}, &answer).error_code();
}

/// The loop and one server on it. Apart from the fixture, whose destructor must not throw.
struct Stage : LoopStage {
  Stage() { start(getuid()); }
  ~Stage() noexcept(false) { taskQueue->close(); }

  void start(uid_t kubeletUid) {
    server.emplace(resourceName(), recorder, loop, kubeletUid);
    server->listenOn(listenAs("plugin.sock"));
  }

  Recorder recorder;
  std::optional<PluginServer> server;
};

class PluginServerTest : public LoopCase<Stage> {
protected:
  std::shared_ptr<grpc::Channel> channel(const char* name = "plugin.sock") {
    auto connection = stage_->dial(name);
    return grpc::CreateCustomInsecureChannelFromFd("plugin", connection.release(), {});
  }
  std::unique_ptr<v1beta1::DevicePlugin::Stub> client(const char* name = "plugin.sock") {
    return v1beta1::DevicePlugin::NewStub(channel(name));
  }

  Recorder& recorder_ = stage_->recorder;
};

/// One frame whose message is about `bytes` long, told apart by `generation`.
std::shared_ptr<const FrameMessage> bigFrame(int generation, std::size_t bytes) {
  Frame frame;
  frame.devices.push_back({std::to_string(generation), true, std::nullopt});
  frame.devices.push_back({std::string(bytes, 'x'), true, std::nullopt});
  return toMessage(frame);
}

TEST_F(PluginServerTest, PrefersDevicesAndIsAskedBeforeEachStart) {
  const auto stub = client();
  const auto options = inBackground([&stub]() {
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions answer;
    const auto status = stub->GetDevicePluginOptions(&context, {}, &answer);
    return std::make_pair(status.error_code(), answer.SerializeAsString());
  });
  EXPECT_EQ(options.first, grpc::StatusCode::OK);
  v1beta1::DevicePluginOptions wanted;
  wanted.set_pre_start_required(true);
  wanted.set_get_preferred_allocation_available(true);
  EXPECT_EQ(options.second, wanted.SerializeAsString());
}

TEST_F(PluginServerTest, ASlowKubeletGetsTheNewestFrameAndNotTheQueue) {
  constexpr int kFrames = 200;
  constexpr std::size_t kFrameBytes = 128UL * 1024;
  const auto stub = client();
  grpc::ClientContext context;
  const auto reader = stub->ListAndWatch(&context, {});
  waitUntil([this]() { return !recorder_.streams.empty(); });
  for (int i = 1; i <= kFrames; ++i) recorder_.streams.front()->show(bigFrame(i, kFrameBytes));

  const auto seen = inBackground([&reader]() {
    std::vector<int> generations;
    v1beta1::ListAndWatchResponse frame;
    while (reader->Read(&frame)) {
      generations.push_back(std::stoi(frame.devices(0).id()));
      if (generations.back() == kFrames) break;
    }
    return generations;
  });
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), kFrames) << "the newest frame must arrive";
  EXPECT_LT(seen.size(), kFrames / 2) << "frames that were overtaken must not be sent";
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  context.TryCancel();
  waitUntil([this]() { return recorder_.ended == 1; });
}

TEST_F(PluginServerTest, AStreamThatTheKubeletEndsIsToldOnce) {
  {
    const auto stub = client();
    grpc::ClientContext context;
    const auto reader = stub->ListAndWatch(&context, {});
    waitUntil([this]() { return !recorder_.streams.empty(); });
    context.TryCancel();
    waitUntil([this]() { return recorder_.ended > 0; });
  }
  recorder_.streams.front()->show(bigFrame(1, 1));  // to nobody, and harmless
  EXPECT_EQ(recorder_.ended, 1);
}

TEST_F(PluginServerTest, ANewListenerLeavesRunningStreamsAlone) {
  const auto first = client();
  grpc::ClientContext context;
  const auto reader = first->ListAndWatch(&context, {});
  waitUntil([this]() { return recorder_.streams.size() == 1; });

  stage_->server->listenOn(stage_->listenAs("second.sock"));
  const auto second = client("second.sock");
  grpc::ClientContext secondContext;
  const auto secondReader = second->ListAndWatch(&secondContext, {});
  waitUntil([this]() { return recorder_.streams.size() == 2; });

  for (const auto& stream : recorder_.streams) stream->show(bigFrame(7, 1));
  const auto both = inBackground([&]() {
    v1beta1::ListAndWatchResponse one;
    v1beta1::ListAndWatchResponse two;
    return reader->Read(&one) && secondReader->Read(&two);
  });
  EXPECT_TRUE(both);
  context.TryCancel();
  secondContext.TryCancel();
  waitUntil([this]() { return recorder_.ended == 2; });
}

TEST_F(PluginServerTest, ConnectionsThatWaitInTheOldListenerAreTaken) {
  // The loop does not run between the dialling and the change of listeners.
  const auto early = client();
  stage_->server->listenOn(stage_->listenAs("second.sock"));
  const auto code = inBackground([&early]() { return codeOf(*early); });
  EXPECT_EQ(code, grpc::StatusCode::OK);
}

TEST_F(PluginServerTest, AConnectionOfAnotherUserIsClosed) {
  stage_->start(getuid() + 1);
  const auto stub = client();
  const auto code = inBackground([&stub]() { return codeOf(*stub); });
  EXPECT_EQ(code, grpc::StatusCode::UNAVAILABLE);
}

TEST_F(PluginServerTest, AnAllocateIsAnsweredWithNodesEnvironmentAndMounts) {
  const auto stub = client();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("0000:65:00.0");
  v1beta1::AllocateResponse answer;
  std::promise<grpc::Status> done;
  stub->async()->Allocate(&context, &request, &answer,
                          [&done](grpc::Status status) { done.set_value(status); });
  waitUntil([this]() { return !recorder_.calls.empty(); });
  const auto& call = recorder_.calls.front();
  EXPECT_THAT(call->ids(), testing::ElementsAre("0000:65:00.0"));
  ASSERT_TRUE(call->claim());
  EXPECT_FALSE(call->claim());
  call->grant({.nodes = {"/dev/vfio/vfio", "/dev/vfio/31"},
               .environment = {{"NAME", "value"}},
               .mounts = {{"/host.sock", "/inside.sock"}}});
  EXPECT_TRUE(done.get_future().get().ok());
  ASSERT_EQ(answer.container_responses_size(), 1);
  const auto& container = answer.container_responses(0);
  EXPECT_EQ(container.envs().at("NAME"), "value");
  ASSERT_EQ(container.devices_size(), 2);
  EXPECT_EQ(container.devices(1).host_path(), "/dev/vfio/31");
  EXPECT_EQ(container.devices(1).container_path(), "/dev/vfio/31");
  EXPECT_EQ(container.devices(1).permissions(), "mrw");
  ASSERT_EQ(container.mounts_size(), 1);
  EXPECT_EQ(container.mounts(0).host_path(), "/host.sock");
  EXPECT_EQ(container.mounts(0).container_path(), "/inside.sock");
  EXPECT_FALSE(container.mounts(0).read_only());
}

TEST_F(PluginServerTest, ACancelledAllocateCannotBeGranted) {
  const auto stub = client();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("0000:65:00.0");
  v1beta1::AllocateResponse answer;
  std::promise<grpc::Status> done;
  stub->async()->Allocate(&context, &request, &answer,
                          [&done](grpc::Status status) { done.set_value(status); });
  waitUntil([this]() { return !recorder_.calls.empty(); });
  context.TryCancel();
  waitUntil([this]() { return recorder_.cancelled == 1; });
  EXPECT_FALSE(recorder_.calls.front()->claim());
  EXPECT_EQ(done.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PluginServerTest, ARequestForTwoContainersIsRefusedInWords) {
  const auto stub = client();
  const auto status = inBackground([&stub]() {
    grpc::ClientContext context;
    v1beta1::AllocateRequest request;
    request.add_container_requests();
    request.add_container_requests();
    v1beta1::AllocateResponse answer;
    return stub->Allocate(&context, request, &answer);
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("one container at a time, not for 2"));
}

TEST_F(PluginServerTest, AMethodThatItDoesNotHaveIsUnimplemented) {
  const auto stub = v1beta1::Registration::NewStub(channel());
  const auto code = inBackground([&stub]() {
    grpc::ClientContext context;
    v1beta1::Empty answer;
    return stub->Register(&context, {}, &answer).error_code();
  });
  EXPECT_EQ(code, grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(PluginServerTest, BytesThatAreNoRequestAreRefused) {
  // A registration has text in its first field, an Allocate messages.
  grpc::TemplatedGenericStub<v1beta1::RegisterRequest, v1beta1::AllocateResponse> stub(channel());
  grpc::ClientContext context;
  v1beta1::RegisterRequest request;
  request.set_version("\xff\xff");
  v1beta1::AllocateResponse answer;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/v1beta1.DevicePlugin/Allocate", {}, &request, &answer,
                 [&done](grpc::Status status) { done.set_value(status); });
  const auto code = inBackground([&done]() { return done.get_future().get().error_code(); });
  EXPECT_EQ(code, grpc::StatusCode::INTERNAL);
  EXPECT_TRUE(recorder_.calls.empty());
}

TEST_F(PluginServerTest, ARequestThatIsTooLongIsRefusedAndTheConnectionServesOn) {
  const auto stub = client();
  const auto codes = inBackground([&stub]() {
    grpc::ClientContext context;
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids(std::string(512UL * 1024, 'x'));
    v1beta1::AllocateResponse answer;
    const auto code = stub->Allocate(&context, request, &answer).error_code();
    return std::make_pair(code, codeOf(*stub));
  });
  EXPECT_EQ(codes.first, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(codes.second, grpc::StatusCode::OK);
  EXPECT_TRUE(recorder_.calls.empty());
}

TEST_F(PluginServerTest, ACallWhoseTimeIsUpIsToldAsCancelled) {
  const auto stub = client();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("0000:65:00.0");
  v1beta1::AllocateResponse answer;
  std::promise<grpc::Status> done;
  stub->async()->Allocate(&context, &request, &answer,
                          [&done](grpc::Status status) { done.set_value(status); });
  waitUntil([this]() { return recorder_.cancelled == 1; });
  EXPECT_EQ(done.get_future().get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(PluginServerTest, EndsWithCallsOpenAndTheLoopStandingStill) {
  const auto stub = client();
  grpc::ClientContext streamContext;
  const auto reader = stub->ListAndWatch(&streamContext, {});
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("0000:65:00.0");
  v1beta1::AllocateResponse answer;
  std::promise<grpc::Status> done;
  stub->async()->Allocate(&context, &request, &answer,
                          [&done](grpc::Status status) { done.set_value(status); });
  waitUntil([this]() { return !recorder_.calls.empty() && !recorder_.streams.empty(); });
  stage_->server.reset();  // would hang if a thread of gRPC waited for the loop
  EXPECT_FALSE(done.get_future().get().ok());
  EXPECT_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace vfiogate
