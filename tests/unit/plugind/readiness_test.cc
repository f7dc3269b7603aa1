#include "plugind/core/status/status.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

struct Facts {
  RegistrationState state;
  std::size_t streams;
  bool hasDevice = true;
};
constexpr Facts kServed{RegistrationState::kStanding, 1};

struct ReadyRow {
  const char* name;
  bool privdThere;
  bool begun;
  bool adopted;
  std::vector<Facts> resources;
  bool ready;
  const char* why;
};
void PrintTo(const ReadyRow& row, std::ostream* out) {
  *out << row.name;
}

PluginStatus statusFrom(const ReadyRow& row) {
  PluginStatus status;
  status.privdThere = row.privdThere;
  status.begun = row.begun;
  status.adopted = row.adopted;
  for (const Facts& facts : row.resources) {
    ResourceStatus resource{
        .name = *ResourceName::parse("v.dev/r" + std::to_string(status.resources.size() + 1)),
        .allocation = {},
        .facts = {.state = facts.state, .streams = facts.streams},
        .devices = {}};
    // Of a kubelet's words, which are nobody's business who can reach netd.
    resource.facts.trouble = "pod secret-pod";
    if (facts.hasDevice) {
      resource.devices.push_back({.address = *Bdf::parse("0000:65:00.0"), .group = {}});
    }
    status.resources.push_back(std::move(resource));
  }
  return status;
}

class ReadinessOf : public testing::TestWithParam<ReadyRow> {};

TEST_P(ReadinessOf, NeedsPrivdAdoptionAndEveryResourceWithDevices) {
  const ReadyRow& row = GetParam();
  const PluginReadiness readiness = readinessOf(statusFrom(row));
  EXPECT_EQ(readiness.ready, row.ready);
  EXPECT_EQ(readiness.why, row.why);
}

TEST(Readiness, NamesTheOneOfPrivdThatIsAway) {
  PluginStatus status;
  status.privdMissing = {"privd-gate"};
  EXPECT_EQ(readinessOf(status).why, "privd-gate is away");
  status.privdMissing = {"privd-gate", "privd-binder"};
  EXPECT_EQ(readinessOf(status).why, "privd is away");
  status.privdThere = true;
  status.privdMissing = {"privd-binder"};
  EXPECT_EQ(readinessOf(status).why, "not adopted: the kubelet's memory was not read yet");
}

INSTANTIATE_TEST_SUITE_P(
    Table, ReadinessOf,
    testing::Values(
        ReadyRow{"PrivdAway", false, true, true, {kServed}, false, "privd is away"},
        ReadyRow{"NothingRead",
                 true,
                 false,
                 false,
                 {},
                 false,
                 "not adopted: the kubelet's memory was not read yet"},
        ReadyRow{"NotAdopted",
                 true,
                 true,
                 false,
                 {kServed},
                 false,
                 "not adopted: the first reconcile of all holders is not over"},
        ReadyRow{"Served",
                 true,
                 true,
                 true,
                 {kServed, kServed},
                 true,
                 "ready: resources registered and streaming: 2"},
        ReadyRow{"NoDevice",
                 true,
                 true,
                 true,
                 {},
                 true,
                 "ready: no device of the configuration is on this node"},
        ReadyRow{"EmptyResourceNeedsNothing",
                 true,
                 true,
                 true,
                 {kServed, {RegistrationState::kUnwanted, 0, false}},
                 true,
                 "ready: resources registered and streaming: 1"},
        ReadyRow{"RegisteredWithoutStream",
                 true,
                 true,
                 true,
                 {kServed, {RegistrationState::kAwaitingStream, 0}},
                 false,
                 "not registered and streaming: v.dev/r2 (awaiting-stream)"},
        ReadyRow{"StreamOfAnOldKubelet",
                 true,
                 true,
                 true,
                 {{RegistrationState::kPausing, 1}},
                 false,
                 "not registered and streaming: v.dev/r1 (pausing)"},
        ReadyRow{"NamesAFewOfMany", true, true, true,
                 std::vector<Facts>(5, {RegistrationState::kAttempting, 0}), false,
                 "not registered and streaming: v.dev/r1 (attempting), v.dev/r2 (attempting), "
                 "v.dev/r3 (attempting) and 2 more"}),
    [](const auto& row) { return std::string(row.param.name); });

PluginStatus statusOfClaims(DraRegistrationState registration, bool apiThere) {
  PluginStatus status = statusFrom({"", true, true, true, {kServed}, true, ""});
  status.resources.front().allocation.serve = Serve::kDra;
  status.dra = DriverStatus{.driver = "vfio.example",
                            .registration = registration,
                            .trouble = "pod secret-pod",
                            .apiThere = apiThere,
                            .node = "n"};
  return status;
}

TEST(ReadinessForClaims, NeedsTheKubeletAndNetd) {
  EXPECT_EQ(readinessOf(statusOfClaims(DraRegistrationState::kFindable, true)),
            (PluginReadiness{false,
                             "not registered with the kubelet: DRA driver vfio.example "
                             "(findable)"}));
  EXPECT_EQ(readinessOf(statusOfClaims(DraRegistrationState::kRegistered, false)),
            (PluginReadiness{false, "netd dra is not connected: claims cannot be read"}));
  EXPECT_EQ(
      readinessOf(statusOfClaims(DraRegistrationState::kRegistered, true)),
      (PluginReadiness{true, "ready: resources registered and streaming: 0, served to claims: 1"}));
}

TEST(ReadinessForClaims, IsNoMatterWhereNoDeviceIsForThem) {
  PluginStatus status = statusOfClaims(DraRegistrationState::kPausing, false);
  status.resources.front().allocation.serve = Serve::kPlugin;
  EXPECT_TRUE(readinessOf(status).ready);
}

constexpr NodeObstacle kNoDriver{"vfio_pci_not_loaded", "load it"};
constexpr NodeObstacle kReadOnly{"readonly_sysfs", "mount it writable"};

PluginStatus statusWith(const std::vector<std::string>& hardware,
                        const std::vector<NodeObstacle>& obstacles) {
  PluginStatus status = statusFrom({"", true, true, true, {}, true, ""});
  for (const std::string& code : hardware) {
    PluginStatus one = statusFrom({"", true, true, true, {kServed}, true, ""});
    one.resources.front().devices.front().hardware = code;
    status.resources.push_back(one.resources.front());
  }
  status.obstacles = obstacles;
  return status;
}

TEST(Readiness, IsNotThereWhileAnObstacleOfTheNodeKeepsEveryDeviceBack) {
  EXPECT_EQ(readinessOf(statusWith({"no-driver", "host-driver"}, {kNoDriver, kReadOnly})),
            (PluginReadiness{false, "vfio_pci_not_loaded: load it"}));
}

TEST(Readiness, NamesObstaclesThatLeaveSomethingToAllocate) {
  EXPECT_EQ(readinessOf(statusWith({"ready", "host-driver"}, {kReadOnly})),
            (PluginReadiness{true,
                             "ready: resources registered and streaming: 2; readonly_sysfs: mount "
                             "it writable"}));
  EXPECT_EQ(readinessOf(statusWith({}, {kNoDriver, kReadOnly})),
            (PluginReadiness{true,
                             "ready: no device of the configuration is on this node; "
                             "vfio_pci_not_loaded: load it; readonly_sysfs: mount it writable"}));
}

TEST(Readiness, WaitsForNoRegistrationOfWhatIsForClaimsOnly) {
  PluginStatus status = statusWith({"ready", "ready"}, {});
  status.resources.front().facts = {};
  status.resources.front().allocation.serve = Serve::kBoth;
  EXPECT_FALSE(readinessOf(status).ready);
  status.resources.front().allocation.serve = Serve::kDra;
  EXPECT_EQ(
      readinessOf(status),
      (PluginReadiness{true, "ready: resources registered and streaming: 1, served to claims: 1"}));
}

}  // namespace
}  // namespace vfiogate
