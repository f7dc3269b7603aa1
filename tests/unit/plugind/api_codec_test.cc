// What plugind and netd dra tell each other survives the encoding; what is wrong is named.

#include "ipc/api/api_codec.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

template <typename Word, typename T>
auto overTheLine(const T& value) {
  capnp::MallocMessageBuilder message;
  encode(value, message.initRoot<Word>());
  return decode(message.getRoot<Word>().asReader());
}

AllocatedClaim claim() {
  AllocatedClaim claim{.uid = "u", .allocated = true, .podClaimName = "gpu", .devices = {}};
  claim.devices.push_back({"main/sub",
                           "node",
                           "0000-17-00-0",
                           "share",
                           true,
                           {Backend::kIommufd, true},
                           "parameters.vfio: no"});
  claim.devices.push_back({"other", "node", "0000-18-00-0", std::nullopt, false, {}, ""});
  return claim;
}

TEST(ApiCodec, AClaimSurvives) {
  const auto back = overTheLine<schema::ClaimAnswer>(ClaimAnswer(claim()));
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(std::get<AllocatedClaim>(*back), claim());
  EXPECT_EQ(*overTheLine<schema::ClaimAnswer>(ClaimAnswer(ClaimGone{})), ClaimAnswer(ClaimGone{}));
  EXPECT_EQ(*overTheLine<schema::ClaimAnswer>(ClaimAnswer(ClaimUnread{"why"})),
            ClaimAnswer(ClaimUnread{"why"}));
}

TEST(ApiCodec, APoolSurvives) {
  DevicePool pool{.driver = "d", .name = "node", .devices = {}, .counterSets = {}};
  PoolDevice device;
  device.attributes = {{"a", std::string("text")},
                       {"b", std::int64_t{-7}},
                       {"c", true},
                       {"d", VersionText{"1.2.3"}}};
  device.consumes = {{"groups-0", "group-3"}, {"groups-0", "group-4"}, {"sets-0", "group-9"}};
  device.taints = {
      {"d/unavailable", "allocated", std::chrono::sys_seconds(std::chrono::seconds(9))}};
  pool.devices = {{"0000-17-00-0", device}, {"0000-18-00-0", PoolDevice{}}};
  pool.counterSets = {{"groups-0", {"group-3", "group-4"}}};
  const auto back = overTheLine<schema::DevicePool>(pool);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, pool);
}

TEST(ApiCodec, AReportAndKeptFieldsSurvive) {
  const ClaimReport report{
      "d", "ns", "c", "u", {{"node", "0000-17-00-0", "s", true, "Prepared", "m", "0000:17:00.0"}}};
  const auto back = overTheLine<schema::ClaimReport>(report);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, report);
  KeptFields kept{.counters = false, .taints = true};
  EXPECT_EQ(overTheLine<schema::KeptFields>(kept), kept);
  for (const ResourceApi api : kResourceApis) {
    kept.api = api;
    EXPECT_EQ(overTheLine<schema::KeptFields>(kept), kept);
  }
}

TEST(ApiCodec, WhatIsWrongIsNamed) {
  capnp::MallocMessageBuilder message;
  auto answer = message.initRoot<schema::ClaimAnswer>();
  encode(ClaimAnswer(claim()), answer);
  answer.getFound().getDevices()[1].getParameters().setVfio(static_cast<schema::VfioChoice>(9));
  const auto bad = decode(answer.asReader());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), "devices[1].vfio is no choice that is known here");

  auto many = message.initRoot<schema::ClaimAnswer>();
  many.initFound().initDevices(kMostResults + 1);
  const auto tooMany = decode(many.asReader());
  ASSERT_FALSE(tooMany);
  EXPECT_NE(tooMany.error().find("devices.size"), std::string::npos) << tooMany.error();
}

TEST(ApiCodec, EncodingKeepsToTheBounds) {
  AllocatedClaim large{.uid = "u", .allocated = true, .podClaimName = "", .devices = {}};
  large.devices.resize(kMostResults + 5);
  large.devices[0].badParameters = std::string(100'000, 'x');
  const auto back = overTheLine<schema::ClaimAnswer>(ClaimAnswer(large));
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(std::get<AllocatedClaim>(*back).devices.size(), kMostResults);
}

}  // namespace
}  // namespace vfiogate
