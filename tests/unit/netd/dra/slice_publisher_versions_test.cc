// One server after another, each with a version of its own.

#include "tests/unit/netd/dra/slice_publisher_case.h"

namespace vfiogate::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SlicePublisherVersions : public SlicePublisherTest {
protected:
  /// What is stored, as a server of this version has it.
  void serve(ResourceApi api) {
    for (auto& [name, slice] : api_.slices) {
      if (!slice["spec"].contains("devices")) continue;
      for (auto& device : slice["spec"]["devices"]) {
        nlohmann::json aspects = device;
        if (device.contains("basic")) aspects = device["basic"];
        aspects.erase("name");
        nlohmann::json other = {{"name", device["name"]}};
        if (api == ResourceApi::kV1beta1) {
          other["basic"] = aspects;
        } else {
          other.update(aspects);
        }
        device = other;
      }
    }
    api_.served = api;
  }
  static std::string slicesOf(ResourceApi api) {
    return std::string("/apis/resource.k8s.io/") + nameOf(api) + "/resourceslices";
  }
};

TEST_F(SlicePublisherVersions, AnOldServersSlicesAreAsItHasThem) {
  serve(ResourceApi::kV1beta1);
  auto stored = publisher_.publish(publishedPool());
  pass(kStartSpread);
  ASSERT_TRUE(stored.poll(scope_));
  EXPECT_EQ(stored.wait(scope_), (KeptFields{.api = ResourceApi::kV1beta1}));
  EXPECT_THAT(told_, ElementsAre(ResourceApi::kV1beta1));
  const auto& slice = api_.slices.at("n1-d.example-000");
  EXPECT_EQ(slice["apiVersion"], "resource.k8s.io/v1beta1");
  EXPECT_TRUE(slice["spec"]["devices"][0]["basic"].contains("consumesCounters"));
  const std::size_t before = api_.journal.size();
  passAll(60);
  EXPECT_THAT(since(before), IsEmpty());
}

TEST_F(SlicePublisherVersions, AnUpgradedServerIsFollowedAndNothingIsWritten) {
  serve(ResourceApi::kV1beta1);
  publishAtOnce(publishedPool(100));
  for (const ResourceApi next : {ResourceApi::kV1beta2, ResourceApi::kV1}) {
    serve(next);
    const std::size_t writes = api_.count("P") + api_.count("DELETE");
    api_.endWatch(Failure{ApiFailure{"connection lost"}});
    passAll(30);
    EXPECT_EQ(told_.back(), next);
    EXPECT_TRUE(api_.isWatched());
    EXPECT_THAT(api_.watchPaths.back(), HasSubstr(slicesOf(next) + "?"));
    EXPECT_EQ(api_.count("P") + api_.count("DELETE"), writes);
  }
  const auto lost = HasSubstr("cannot watch ResourceSlices: connection lost");
  EXPECT_THAT(news_.troubles, ElementsAre(lost, lost)) << "each time once, and no more";
}

TEST_F(SlicePublisherVersions, AVersionThatIsGoneBehindAWriteIsFoundByIt) {
  serve(ResourceApi::kV1beta2);
  publishAtOnce(publishedPool());
  serve(ResourceApi::kV1);
  DevicePool pool = publishedPool();
  pool.devices.begin()->second.taints.push_back({"d.example/held", "", {}});
  auto stored = publisher_.publish(pool);
  passAll(5);
  ASSERT_TRUE(stored.poll(scope_));
  EXPECT_EQ(stored.wait(scope_).api, ResourceApi::kV1);
  EXPECT_THAT(api_.journal, Contains("PUT " + kPath + "/n1-d.example-000"));
}

TEST_F(SlicePublisherVersions, AServerWithoutAnyVersionIsToldOnceAndAskedSeldom) {
  const auto any = [this]() { return api_.count("GET /apis/resource.k8s.io/"); };
  api_.order({.begin = "GET /apis/resource.k8s.io/", .status = 404, .times = 120});
  auto stored = publisher_.publish(publishedPool());
  passAll(1200);
  EXPECT_FALSE(stored.poll(scope_));
  EXPECT_LE(any(), 3 * (1200U / 30U + 10U));
  EXPECT_THAT(news_.troubles, ElementsAre(HasSubstr("none of v1, v1beta2 and v1beta1")));
  passAll(1800);
  EXPECT_TRUE(stored.poll(scope_));
}

TEST_F(SlicePublisherVersions, AServerThatWantsCountersBesideTheirDevicesIsSaidToDropThem) {
  api_.countersBeside = true;
  auto refused = publisher_.publish(publishedPool());
  pass(kStartSpread);
  ASSERT_TRUE(refused.poll(scope_));
  EXPECT_EQ(refused.wait(scope_), (KeptFields{.counters = false, .api = ResourceApi::kV1}));
  EXPECT_THAT(news_.troubles, ElementsAre(HasSubstr("no such set")));
  // What plugind does about it.
  DevicePool pool = publishedPool();
  pool.counterSets.clear();
  pool.devices.begin()->second.consumes.clear();
  auto stored = publisher_.publish(pool);
  passAll(10);
  EXPECT_TRUE(stored.poll(scope_));
  EXPECT_THAT(api_.slices, SizeIs(1));
}

}  // namespace
}  // namespace vfiogate::test
