#include "tests/support/played/api_server.h"

#include "netd/dra/api/api_versions.h"
#include "netd/dra/slices/slice.h"
#include "netd/dra/slices/slice_requests.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <fstream>

namespace vfiogate::test {
namespace {

TEST(ApiServerProcess, KeepsClaimsAndTellsWhatItWasAsked) {
  ApiServer server;
  const std::string uid = server.makeClaim("c", "vfio.example", {{.device = "0000-01-00-0"}});
  const auto claim = server.claim("c");
  EXPECT_EQ(claim.at("metadata").at("uid"), uid);
  EXPECT_EQ(claim.at("status").at("allocation").at("devices").at("results").at(0).at("device"),
            "0000-01-00-0");
  server.deallocate("c");
  EXPECT_EQ(server.claim("c").at("status"), nlohmann::json::object());
  server.deleteClaim("c");
  EXPECT_THROW(server.claim("c"), std::runtime_error);
  EXPECT_EQ(server.asked("GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"), 3U);
  EXPECT_EQ(server.journal().back().at("status"), 404);
  EXPECT_EQ(server.slices(), nlohmann::json::array());
}

TEST(ApiServerProcess, FailsOnOrderAndLetsOnlyItsTokensIn) {
  const TempDir place;
  std::ofstream(place / "token") << "one";
  ApiServer server({.tokenFiles = {place / "token"}});
  server.ask("GET", "/api/v1/nodes/node-1");
  server.control({{"fail", {{{"match", "GET /api/"}, {"status", 503}}}}});
  EXPECT_THROW(server.ask("GET", "/api/v1/nodes/node-1"), std::runtime_error);
  std::ofstream(place / "token") << "two";
  server.ask("GET", "/api/v1/nodes/node-1");
  EXPECT_EQ(server.journal().back().at("token"), "two");
}

/// As many as fill it: attributes of each kind, counters and taints.
DevicePool largePool(int devices) {
  DevicePool pool{.driver = "vfio.example", .name = "node-1", .devices = {}, .counterSets = {}};
  for (int i = 0; i < devices; ++i) {
    PoolDevice device;
    device.attributes = {{"resource.kubernetes.io/pciBusID", std::string("0000:01:00.0")},
                         {"numaNode", std::int64_t{1}},
                         {"sriov", false},
                         {"driverVersion", VersionText{"1.2.3"}}};
    const CounterName counter{"groups-" + std::to_string(i / 32), "group-" + std::to_string(i)};
    device.consumes = {counter};
    device.taints = {
        {"vfio.example/held", "plugin", std::chrono::sys_days(std::chrono::year(2026) / 2 / 3)}};
    pool.counterSets[counter.set].insert(counter.counter);
    pool.devices["dev-" + std::to_string(i)] = device;
  }
  return pool;
}

ObservedSlices observedBy(ApiServer& server, ResourceApi api) {
  ObservedSlices observed;
  const auto list = server.ask("GET", pathOf(api) + "/resourceslices");
  for (const auto& object : list.at("items")) {
    const auto slice = sliceFrom(object, api);
    if (slice) observed.emplace(slice->name, *slice);
  }
  return observed;
}

void writeTo(ApiServer& server, ResourceApi api, const SlicePlan& plan) {
  for (const SliceWrite& write : plan.writes) {
    const ApiRequest request = requestOf(api, write);
    const bool create = write.kind == SliceWrite::Kind::kCreate;
    const bool update = write.kind == SliceWrite::Kind::kUpdate;
    server.ask(create ? "POST" : update ? "PUT" : "DELETE", request.path, request.body);
  }
}

class ApiServerOfVersion : public testing::TestWithParam<ResourceApi> {};

TEST_P(ApiServerOfVersion, TakesThePublishersSlicesAndASchedulerFindsThePoolInThem) {
  const ResourceApi api = GetParam();
  ApiServer server({.serve = {nameOf(api)}});
  const SliceOwner node{"node-1", "node-uid"};
  for (const int devices : {300, 150, 151, 0}) {
    const DevicePool pool = largePool(devices);
    const auto plan = planSlices(pool, node, observedBy(server, api), {});
    ASSERT_TRUE(plan) << plan.error();
    writeTo(server, api, *plan);
    const auto again = planSlices(pool, node, observedBy(server, api), {});
    ASSERT_TRUE(again);
    EXPECT_THAT(again->writes, testing::IsEmpty()) << "the server stores what we write";
    const auto pools = server.pools();
    ASSERT_EQ(pools.size(), devices == 0 ? 0U : 1U);
    if (devices == 0) continue;
    EXPECT_EQ(pools[0].at("complete"), true);
    EXPECT_EQ(pools[0].at("problems"), nlohmann::json::array());
    EXPECT_EQ(pools[0].at("devices").size(), static_cast<std::size_t>(devices));
  }
}
INSTANTIATE_TEST_SUITE_P(Each, ApiServerOfVersion, testing::ValuesIn(kResourceApis),
                         [](const auto& api) { return std::string(nameOf(api.param)); });

}  // namespace
}  // namespace vfiogate::test
