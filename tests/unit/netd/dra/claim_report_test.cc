#include "netd/dra/claims/claim_json.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace vfiogate {
namespace {

using nlohmann::json;
using std::chrono::sys_seconds;
using testing::HasSubstr;

constexpr sys_seconds kNow{std::chrono::seconds{1'790'000'000}};
constexpr const char* kNowText = "2026-09-21T14:13:20Z";

ClaimReport report(bool ready = true) {
  return {"vfio.vfiogate.dev",
          "ns",
          "c",
          "u-1",
          {{"node-a", "0000-01-00-0", std::nullopt, ready, ready ? "Prepared" : "Busy", "words",
            "0000:01:00.0"}}};
}

json claim(json devices = nullptr) {
  json made{{"metadata", {{"name", "c"}, {"uid", "u-1"}, {"resourceVersion", "41"}}},
            {"spec", {{"kept", true}}},
            {"status", {{"allocation", {{"devices", json::object()}}}}}};
  if (!devices.is_null()) made["status"]["devices"] = std::move(devices);
  return made;
}

json written(const json& claim, const ClaimReport& report, sys_seconds now = kNow) {
  const auto text = claimWithReport(claim.dump(), report, now);
  if (!text) return text.error();
  return *text ? json::parse(**text) : json();
}

TEST(ClaimReport, IsWrittenBesideAllElse) {
  const json others{{"driver", "gpu.example.com"}, {"pool", "p"}, {"device", "d"}, {"x", {1}}};
  const json whole = written(claim(json::array({others})), report());
  EXPECT_EQ(whole["metadata"]["resourceVersion"], "41");
  EXPECT_EQ(whole["spec"]["kept"], true);
  const json ours{{"driver", "vfio.vfiogate.dev"},
                  {"pool", "node-a"},
                  {"device", "0000-01-00-0"},
                  {"data", {{"address", "0000:01:00.0"}}},
                  {"conditions",
                   {{{"type", "Ready"},
                     {"status", "True"},
                     {"reason", "Prepared"},
                     {"message", "words"},
                     {"lastTransitionTime", kNowText}}}}};
  EXPECT_EQ(whole["status"]["devices"], json::array({others, ours}));
}

TEST(ClaimReport, WhatIsSaidAlreadyIsNotWritten) {
  const json once = written(claim(), report());
  EXPECT_EQ(written(once, report(), kNow + std::chrono::hours(1)), json());
}

TEST(ClaimReport, TheTransitionTimeIsOfTheLastTransition) {
  const json once = written(claim(), report());
  ClaimReport other = report();
  other.devices[0].message = "other words";
  const auto later = kNow + std::chrono::hours(1);
  const auto since = [](const json& whole) {
    return whole["status"]["devices"][0]["conditions"][0]["lastTransitionTime"];
  };
  EXPECT_EQ(since(written(once, other, later)), kNowText);
  EXPECT_EQ(since(written(once, report(false), later)), "2026-09-21T15:13:20Z");
}

TEST(ClaimReport, SharesOfOneDeviceAreApart) {
  ClaimReport shares = report();
  shares.devices.push_back(shares.devices[0]);
  shares.devices[1].shareId = "s";
  const json once = written(claim(), shares);
  ASSERT_EQ(once["status"]["devices"].size(), 2U);
  EXPECT_FALSE(once["status"]["devices"][0].contains("shareID"));
  EXPECT_EQ(once["status"]["devices"][1]["shareID"], "s");
}

TEST(ClaimReport, AnotherClaimOfTheNameIsLeftAlone) {
  json other = claim();
  other["metadata"]["uid"] = "u-2";
  EXPECT_THAT(claimWithReport(other.dump(), report(), kNow).error(), HasSubstr("another one"));
  json gone = claim();
  gone["status"].erase("allocation");
  EXPECT_THAT(claimWithReport(gone.dump(), report(), kNow).error(), HasSubstr("not allocated"));
}

TEST(ClaimReport, HostileClaimsAreErrors) {
  EXPECT_FALSE(claimWithReport("7", report(), kNow));
  EXPECT_FALSE(claimWithReport(R"({"metadata":7})", report(), kNow));
  const json odd = claim(json::array({7, json::array(), {{"driver", 7}}, nullptr}));
  EXPECT_EQ(written(odd, report())["status"]["devices"].size(), 5U);
  EXPECT_EQ(written(claim(7), report())["status"]["devices"].size(), 1U);
}

}  // namespace
}  // namespace vfiogate
