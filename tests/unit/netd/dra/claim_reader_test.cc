#include "netd/dra/claims/claim_json.h"

#include "netd/dra/api/json_text.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kOurs = "vfio.vfiogate.dev";

json result(const char* request, const char* device, const char* driver = kOurs) {
  return {{"request", request}, {"driver", driver}, {"pool", "node-a"}, {"device", device}};
}

json allocated(json results) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", "c"}, {"uid", "u-1"}}},
          {"status", {{"allocation", {{"devices", {{"results", std::move(results)}}}}}}}};
}

std::string faultIn(const json& claim) {
  const auto read = readClaim(claim.dump(), kOurs);
  return read ? "none" : read.error();
}

TEST(ClaimReader, TakesTheDriversDevicesInTheirOrder) {
  json claim = allocated(
      {result("main", "b"), result("x", "y", "gpu.example.com"), result("other/sub", "a")});
  json& last = claim["status"]["allocation"]["devices"]["results"][2];
  last["shareID"] = "0b7d9d1c-7f0a-4f0e-8a68-6d1c4f3a2b10";
  last["adminAccess"] = true;
  last["aFieldOfTomorrow"] = {1, 2};
  const auto read = readClaim(claim.dump(), kOurs);
  ASSERT_TRUE(read) << read.error();
  AllocatedClaim wanted{"u-1", true, "", {{"main", "node-a", "b"}, {"other/sub", "node-a", "a"}}};
  wanted.devices[1].shareId = "0b7d9d1c-7f0a-4f0e-8a68-6d1c4f3a2b10";
  wanted.devices[1].adminAccess = true;
  EXPECT_EQ(*read, wanted);
}

TEST(ClaimReader, AClaimMayNotBeAllocated) {
  const json bare{{"metadata", {{"uid", "u-1"}}}};
  EXPECT_EQ(readClaim(bare.dump(), kOurs), (AllocatedClaim{"u-1", false, "", {}}));
  json nulls = bare;
  nulls["status"] = {{"allocation", nullptr}};
  EXPECT_EQ(readClaim(nulls.dump(), kOurs), (AllocatedClaim{"u-1", false, "", {}}));
}

TEST(ClaimReader, KnowsAClaimThatWasMadeFromATemplate) {
  json claim = allocated(json::array());
  claim["metadata"]["annotations"] = {{"resource.kubernetes.io/pod-claim-name", "gpu"}};
  const auto read = readClaim(claim.dump(), kOurs);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->podClaimName, "gpu");
}

TEST(ClaimReader, ParametersComeToTheirDevices) {
  json claim = allocated({result("main", "a"), result("other", "b")});
  claim["status"]["allocation"]["devices"]["config"] = {
      {{"source", "FromClaim"},
       {"requests", {"other"}},
       {"opaque", {{"driver", kOurs}, {"parameters", {{"vfio", "foo"}}}}}}};
  const auto read = readClaim(claim.dump(), kOurs);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->devices[0].badParameters, "");
  EXPECT_THAT(read->devices[1].badParameters, HasSubstr("parameters.apiVersion"));
}

TEST(ClaimReader, WhatNoServerSendsIsAnErrorInWords) {
  EXPECT_EQ(faultIn(json::array()), "the claim is no JSON object");
  EXPECT_EQ(readClaim("{\"metadata\":", kOurs).error(), "the claim is not JSON");
  EXPECT_EQ(readClaim("", kOurs).error(), "the claim is not JSON");
  EXPECT_EQ(faultIn(json::object()), "the claim's metadata: is missing");
  EXPECT_EQ(faultIn({{"metadata", 7}}), "the claim's metadata: is no object");
  EXPECT_EQ(faultIn({{"metadata", {{"uid", 7}}}}), "the claim's metadata.uid: is no text");
  EXPECT_EQ(faultIn({{"metadata", {{"uid", ""}}}}), "the claim's metadata.uid: is missing");
  EXPECT_EQ(faultIn(allocated(7)), "the claim's status.allocation.devices.results: is no list");
  EXPECT_EQ(faultIn(allocated({7})),
            "the claim's status.allocation.devices.results[0]: is no object");
  EXPECT_EQ(faultIn(allocated({{{"driver", kOurs}}})),
            "the claim's status.allocation.devices.results[0].request: is missing");
  json many = json::array();
  for (int i = 0; i < 33; ++i) many.push_back(result("main", "a"));
  EXPECT_EQ(faultIn(allocated(many)),
            "the claim's status.allocation.devices.results: has more than 32 elements");
  EXPECT_EQ(faultIn(allocated(json::array({result("main", std::string(64, 'x').c_str())}))),
            "the claim's status.allocation.devices.results[0].device: has more than 63 bytes");
}

TEST(ClaimReader, DepthIsBoundedBeforeAnythingIsRead) {
  EXPECT_THAT(readClaim(std::string(2'000'000, '['), kOurs).error(), HasSubstr("64 levels"));
  const std::string deep = R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_THAT(readClaim(deep, kOurs).error(), HasSubstr("64 levels"));
  // Brackets in a text are none.
  const std::string text = R"({"metadata":{"uid":"u"},"a":"\")" + std::string(100, '[') + R"("})";
  EXPECT_TRUE(readClaim(text, kOurs));
}

}  // namespace
}  // namespace vfiogate
