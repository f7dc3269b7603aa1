// The stream on which the kubelet hears of the health of devices.

#include "tests/integration/dra/dra_case.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

namespace vfiogate::test {
namespace {

using Health = v1alpha1::DRAResourceHealth;
using testing::ElementsAre;

/// A frame whose message has about `kilobytes`, told apart by `generation`.
HealthFrame numbered(int generation, std::size_t kilobytes = 1) {
  HealthFrame frame;
  for (std::size_t i = 0; i < kilobytes; ++i) {
    frame.push_back({.pool = "node-a",
                     .device = std::to_string(generation),
                     .health = DraHealth::kHealthy,
                     .message = std::string(1000, 'x')});
  }
  return frame;
}

class DraHealthStream : public DraCase {
protected:
  std::unique_ptr<grpc::ClientReader<v1alpha1::NodeWatchResourcesResponse>> open(
      grpc::ClientContext& context, Health::Stub& kubelet) {
    auto reader = kubelet.NodeWatchResources(&context, {});
    const std::size_t before = recorder_.streams.size();
    waitUntil([this, before]() { return recorder_.streams.size() > before; });
    return reader;
  }
};

TEST_F(DraHealthStream, AFrameSaysEveryField) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  const auto before = std::chrono::system_clock::now();
  recorder_.streams.front()->send(
      {{.pool = "node-a", .device = "a", .health = DraHealth::kHealthy, .message = ""},
       {.pool = "node-a", .device = "b", .health = DraHealth::kUnhealthy, .message = "gone"},
       {.pool = "node-b", .device = "c", .health = DraHealth::kUnknown, .message = "why"}});
  v1alpha1::NodeWatchResourcesResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  ASSERT_EQ(frame.devices_size(), 3);
  EXPECT_EQ(frame.devices(0).health(), v1alpha1::HEALTHY);
  const auto& device = frame.devices(1);
  EXPECT_EQ(device.device().pool_name(), "node-a");
  EXPECT_EQ(device.device().device_name(), "b");
  EXPECT_EQ(device.health(), v1alpha1::UNHEALTHY);
  EXPECT_EQ(device.message(), "gone");
  EXPECT_EQ(device.health_check_timeout_seconds(), 30);
  EXPECT_GE(device.last_updated_time(), std::chrono::system_clock::to_time_t(before));
  EXPECT_LE(device.last_updated_time(),
            std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  EXPECT_EQ(frame.devices(2).health(), v1alpha1::UNKNOWN);
  context.TryCancel();
}

TEST_F(DraHealthStream, AMessageIsAtMost1024BytesThatGoCanRead) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  recorder_.streams.front()->send(
      {{.pool = "p", .device = "a", .health = {}, .message = std::string(1024, 'x')},
       {.pool = "p", .device = "b", .health = {}, .message = std::string(1025, 'x')},
       {.pool = "p", .device = "c", .health = {}, .message = "\xff \xc3"}});
  v1alpha1::NodeWatchResourcesResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  EXPECT_EQ(frame.devices(0).message(), std::string(1024, 'x'));
  EXPECT_EQ(frame.devices(1).message(), std::string(1021, 'x') + "...");
  EXPECT_EQ(frame.devices(2).message(), "? ?");
  context.TryCancel();
}

TEST_F(DraHealthStream, AHeartbeatSaysTheSameAgain) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  v1alpha1::NodeWatchResourcesResponse frame;
  for (int beat = 0; beat < 3; ++beat) {
    recorder_.streams.front()->send(numbered(7));
    ASSERT_TRUE(reader->Read(&frame));
    EXPECT_EQ(frame.devices(0).device().device_name(), "7");
  }
  context.TryCancel();
}

TEST_F(DraHealthStream, ASlowKubeletGetsTheNewestFrameAndNotTheQueue) {
  constexpr int kFrames = 200;
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  for (int i = 1; i <= kFrames; ++i) recorder_.streams.front()->send(numbered(i, 128));
  std::vector<int> generations;
  v1alpha1::NodeWatchResourcesResponse frame;
  while (reader->Read(&frame)) {
    generations.push_back(std::stoi(frame.devices(0).device().device_name()));
    if (generations.back() == kFrames) break;
  }
  ASSERT_FALSE(generations.empty());
  EXPECT_EQ(generations.back(), kFrames) << "the newest frame must arrive";
  EXPECT_LT(generations.size(), kFrames / 2) << "frames that were overtaken must not be sent";
  EXPECT_TRUE(std::ranges::is_sorted(generations));
  context.TryCancel();
}

TEST_F(DraHealthStream, AnEndIsToldOnceForTheStreamThatEnded) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext staying;
  const auto stays = open(staying, *kubelet);
  grpc::ClientContext leaving;
  const auto leaves = open(leaving, *kubelet);
  leaving.TryCancel();
  waitUntil([this]() { return !recorder_.ended.empty(); });
  EXPECT_THAT(recorder_.ended, ElementsAre(recorder_.streams.back().get()));
  recorder_.streams.back()->send(numbered(1));  // to nobody, and harmless
  recorder_.streams.front()->send(numbered(2));
  v1alpha1::NodeWatchResourcesResponse frame;
  ASSERT_TRUE(stays->Read(&frame));
  EXPECT_EQ(recorder_.ended.size(), 1U);
  staying.TryCancel();
}

TEST_F(DraHealthStream, AKubeletThatHangsUpEndsIt) {
  auto connection = dial("dra.sock");
  const kj::AutoCloseFd same(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  const auto kubelet = Health::NewStub(channelOn(kj::mv(connection)));
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  ASSERT_EQ(shutdown(same.get(), SHUT_RDWR), 0);
  waitUntil([this]() { return !recorder_.ended.empty(); });
  EXPECT_THAT(recorder_.ended, ElementsAre(recorder_.streams.front().get()));
}

TEST_F(DraHealthStream, ANewListenerLeavesRunningStreamsAlone) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  stage_->server->serveOn(stage_->listenAs("second.sock"));
  const auto again = Health::NewStub(channel("second.sock"));
  grpc::ClientContext second;
  const auto secondReader = open(second, *again);
  recorder_.streams.front()->send(numbered(1));
  v1alpha1::NodeWatchResourcesResponse frame;
  EXPECT_TRUE(reader->Read(&frame));
  context.TryCancel();
  second.TryCancel();
}

TEST_F(DraHealthStream, EndsWithTheServerAndTheLoopStandingStill) {
  const auto kubelet = Health::NewStub(channel());
  grpc::ClientContext context;
  const auto reader = open(context, *kubelet);
  stage_->server.reset();
  EXPECT_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace vfiogate::test
