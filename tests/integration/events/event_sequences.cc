#include "tests/integration/events/event_sequences.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace vfiogate::test {
namespace {

enum class Shown : std::uint8_t {
  kHealthy,
  kUnhealthy,
  kAbsent,  ///< never Healthy again, and out of the frame once its 60 s are over
};
using enum Shown;

using Expected = std::map<std::string, Shown>;

struct Stage {
  std::vector<std::string> acts;  ///< commands of sim-sysfs; "run POD" takes one of the resource
  Expected shown;                 ///< all of the resource's devices
};

struct Row {
  std::string name;
  std::string resource;
  std::vector<Stage> stages;  ///< each changes what is shown, so that a lost event is noticed
};

const std::string kPrefix = "vfiogate.dev/";

constexpr const char* kConfig =
    "resources:\n"
    "  - {select: {vendor: [\"10de\", \"15b3\", \"1af4\"]}}\n"
    "  - {select: {vendor: \"8086\"}, groupUnit: all}\n"
    "  - {name: vfiogate.dev/vgpu, select: {mdev: nvidia-711}}\n";

/// What makes no event of its own (opening, closing, a device that falls silent) is seen with the
/// next reread: here that of an event elsewhere.
const std::string kElsewhere = "bind 0000:50:00.0 vfio-pci";

const std::string kMediated = "3f5e2c10-0001-4a5b-8c6d-00000000000";
const std::string kMakeMediated = "mdev 0000:63:00.0 nvidia-711 " + kMediated;

/// Virtual functions of the function 0 on this bus, from the first on.
Expected functionsOn(const std::string& bus, int count, Shown shown) {
  Expected expected;
  for (int i = 0; i < count; ++i) {
    const int place = i + 8;
    expected["0000:" + bus + ":0" + std::to_string(place / 8) + "." + std::to_string(place % 8)] =
        shown;
  }
  return expected;
}

Expected together(Expected left, const Expected& right) {
  left.insert(right.begin(), right.end());
  return left;
}

std::vector<Row> rows() {
  return {
      {"Bind",
       "10de_0051",
       {{{}, {{"0000:51:00.0", kUnhealthy}}},
        {{"bind 0000:51:00.0 vfio-pci"}, {{"0000:51:00.0", kHealthy}}}}},
      {"Unbind",
       "10de_0052",
       {{{}, {{"0000:52:00.0", kHealthy}}},
        {{"unbind 0000:52:00.0"}, {{"0000:52:00.0", kUnhealthy}}}}},
      {"RebindToAnotherDriver",
       "15b3_0053",
       {{{"bind 0000:53:00.0 nvidia"}, {{"0000:53:00.0", kUnhealthy}}},
        {{"bind 0000:53:00.0 mlx5_vfio_pci"}, {{"0000:53:00.0", kHealthy}}}}},
      {"MemberOnAHostDriverThenOnAStub",
       "8086_0054",
       {{{"bind 0000:54:00.1 e1000"}, {{"0000:54:00.0", kUnhealthy}, {"0000:54:00.1", kUnhealthy}}},
        {{"bind 0000:54:00.1 pci-stub"},
         {{"0000:54:00.0", kHealthy}, {"0000:54:00.1", kUnhealthy}}}}},
      {"HotPlug",
       "10de_0055",
       {{{}, {{"0000:55:00.0", kAbsent}, {"0000:55:01.0", kHealthy}}},
        {{"plug 0000:55:00.0"}, {{"0000:55:00.0", kUnhealthy}, {"0000:55:01.0", kHealthy}}},
        {{"bind 0000:55:00.0 vfio-pci"},
         {{"0000:55:00.0", kHealthy}, {"0000:55:01.0", kHealthy}}}}},
      {"HotUnplug",
       "10de_0056",
       {{{}, {{"0000:56:00.0", kHealthy}}},
        {{"unplug 0000:56:00.0"}, {{"0000:56:00.0", kAbsent}}}}},
      {"HotUnplugHeld",
       "10de_0057",
       {{{"run p57", kElsewhere}, {{"0000:57:00.0", kHealthy}}},
        {{"unplug 0000:57:00.0"}, {{"0000:57:00.0", kUnhealthy}}},
        {{"plug 0000:57:00.0"}, {{"0000:57:00.0", kHealthy}}},
        {{"unplug 0000:57:00.0"}, {{"0000:57:00.0", kUnhealthy}}}}},
      {"AnotherGroupNumberOnReplug",
       "10de_0058",
       {{{"unplug 0000:58:00.0", "renumber 0000:58:00.0 158"}, {{"0000:58:00.0", kAbsent}}},
        {{"plug 0000:58:00.0", "bind 0000:58:00.0 vfio-pci"}, {{"0000:58:00.0", kHealthy}}}}},
      {"ANeighbourMovesIntoTheGroup",
       "10de_0059",
       {{{"unplug 0000:5a:00.0", "renumber 0000:5a:00.0 59", "plug 0000:5a:00.0"},
         {{"0000:59:00.0", kUnhealthy}}},
        {{"bind 0000:5a:00.0 vfio-pci"}, {{"0000:59:00.0", kHealthy}}}}},
      {"DriverLoadedLater",
       "1af4_1041",
       {{{}, {{"0000:5b:00.0", kUnhealthy}}},
        {{"load-driver virtio_vfio_pci"}, {{"0000:5b:00.0", kHealthy}}}}},
      {"OpenedByAStrangerAndClosed",
       "10de_005c",
       {{{"open 0000:5c:00.0", kElsewhere}, {{"0000:5c:00.0", kUnhealthy}}},
        {{"close 0000:5c:00.0", kElsewhere}, {{"0000:5c:00.0", kHealthy}}}}},
      {"StopsAnsweringAndAnswersAgain",
       "10de_005d",
       {{{"mute 0000:5d:00.0", kElsewhere}, {{"0000:5d:00.0", kUnhealthy}}},
        {{"unmute 0000:5d:00.0", kElsewhere}, {{"0000:5d:00.0", kHealthy}}}}},
      {"NewModelStartsItsResource",
       "10de_005e",
       {{{"plug 0000:5e:00.0", "bind 0000:5e:00.0 vfio-pci"}, {{"0000:5e:00.0", kHealthy}}}}},
      {"UnplugWhileOpen",
       "10de_005f",
       {{{"open 0000:5f:00.0", kElsewhere}, {{"0000:5f:00.0", kUnhealthy}}},
        {{"unplug 0000:5f:00.0", "close 0000:5f:00.0"}, {{"0000:5f:00.0", kAbsent}}}}},
      {"VirtualFunctionsCreatedAndDestroyed",
       "8086_1889",
       {{{"vfs 0000:60:00.0 8"}, functionsOn("60", 8, kHealthy)},
        {{"vfs 0000:60:00.0 0"}, functionsOn("60", 8, kAbsent)}}},
      {"FewerVirtualFunctions",
       "8086_1890",
       {{{"vfs 0000:61:00.0 8"}, functionsOn("61", 8, kHealthy)},
        {{"vfs 0000:61:00.0 0", "vfs 0000:61:00.0 3"},
         together(functionsOn("61", 3, kHealthy), functionsOn("61", 8, kAbsent))}}},
      {"MediatedDevicesMadeAndRemoved",
       "vgpu",
       {{{kMakeMediated + "1", kMakeMediated + "2"},
         {{kMediated + "1", kHealthy}, {kMediated + "2", kHealthy}}},
        {{"remove-mdev " + kMediated + "1"},
         {{kMediated + "1", kAbsent}, {kMediated + "2", kHealthy}}}}},
      {"VgpuTypeSetAndTakenAway",
       "10de_0065",
       {{{"vfs 0000:64:00.0 2"}, {{"0000:64:01.0", kUnhealthy}, {"0000:64:01.1", kUnhealthy}}},
        {{"vgpu 0000:64:01.0 1147", kElsewhere},
         {{"0000:64:01.0", kHealthy}, {"0000:64:01.1", kUnhealthy}}},
        {{"vgpu 0000:64:01.0 0", "vgpu 0000:64:01.1 1147", kElsewhere},
         {{"0000:64:01.0", kUnhealthy}, {"0000:64:01.1", kHealthy}}}}},
      {"RescanBurst", "8086_1891", {{{"vfs 0000:62:00.0 64"}, functionsOn("62", 64, kHealthy)}}},
  };
}

void act(EventNode& node, const Row& row, const std::string& what) {
  if (what.starts_with("run ")) {
    EXPECT_NE(node.run(what.substr(4), kPrefix + row.resource), "")
        << row.name << ", " << node.name();
    return;
  }
  const std::string answer = node.hardware(what);
  EXPECT_EQ(answer.substr(0, 2), "ok") << row.name << ", " << node.name() << ", " << what;
}

/// What is in the frame in the end.
ShownFrame inTheEnd(const Expected& expected) {
  ShownFrame frame;
  for (const auto& [id, shown] : expected) {
    if (shown != kAbsent) frame[id] = shown == kHealthy;
  }
  return frame;
}

/// What left may still be there, Unhealthy: ledger.md 8.
ShownFrame withoutLeaving(ShownFrame frame, const Expected& expected) {
  std::erase_if(frame, [&expected](const auto& entry) {
    const auto found = expected.find(entry.first);
    return found != expected.end() && found->second == kAbsent && !entry.second;
  });
  return frame;
}

using Nodes = std::vector<std::unique_ptr<EventNode>>;

/// On all nodes at once, each as soon as it shows what the stage before led to.
void playRow(const Nodes& nodes, const Row& row) {
  for (std::size_t i = 0; i < row.stages.size() && !testing::Test::HasFailure(); ++i) {
    const Stage& stage = row.stages[i];
    for (auto& node : nodes) {
      for (const std::string& what : stage.acts) act(*node, row, what);
    }
    for (auto& node : nodes) {
      const auto asExpected = [&stage](const ShownFrame& frame) {
        return withoutLeaving(frame, stage.shown) == inTheEnd(stage.shown);
      };
      const ShownFrame shown = node->await(kPrefix + row.resource, asExpected);
      EXPECT_TRUE(asExpected(shown)) << row.name << ", stage " << i << ", " << node->name() << "\n"
                                     << inWords({{row.resource, shown}}) << node->said();
    }
  }
}

void settleRow(const Nodes& nodes, const Row& row) {
  const ShownFrame wanted = inTheEnd(row.stages.back().shown);
  for (auto& node : nodes) {
    const ShownFrame shown =
        node->await(kPrefix + row.resource, [&](const auto& frame) { return frame == wanted; });
    EXPECT_EQ(shown, wanted) << row.name << " in the end, " << node->name();
  }
}

}  // namespace

EventSequences::EventSequences(unsigned seed)
    : nodes_(startEventNodes("event-sequences.yaml", kConfig, seed)) {}

void EventSequences::play() {
  for (const Row& row : rows()) {
    const auto began = std::chrono::steady_clock::now();
    playRow(nodes_, row);
    ASSERT_FALSE(testing::Test::HasFailure());
    const auto took = std::chrono::steady_clock::now() - began;
    std::cout << row.name << ": " << std::chrono::round<std::chrono::milliseconds>(took).count()
              << " ms\n";
  }
}

void EventSequences::settle() {
  for (const Row& row : rows()) settleRow(nodes_, row);
  for (auto& node : nodes_) {
    EXPECT_EQ(node->streamsLost(), 0U) << node->name() << "\n" << node->said();
    EXPECT_EQ(node->kubelet().crash(), "") << node->name();
    EXPECT_EQ(node->frames(), nodes_.front()->frames()) << node->name();
  }
}

}  // namespace vfiogate::test
