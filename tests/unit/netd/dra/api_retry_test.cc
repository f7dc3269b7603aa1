#include "netd/dra/api/api_retry.h"

#include <gmock/gmock.h>

#include <cstdint>

namespace vfiogate {
namespace {

using testing::Eq;

std::optional<std::int64_t> waitedMs(const ApiOutcome& outcome, unsigned tries, double unit) {
  const auto wait = waitBeforeRetry(outcome, tries, unit);
  if (!wait) return std::nullopt;
  return *wait / kj::MILLISECONDS;
}

TEST(WaitBeforeRetry, OnlyWhatMayPassIsTriedAgain) {
  for (const unsigned status : {429U, 500U, 502U, 503U, 504U, 599U}) {
    EXPECT_TRUE(waitBeforeRetry(ApiAnswer{status, ""}, 1, 0)) << status;
  }
  for (const unsigned status :
       {200U, 201U, 301U, 400U, 401U, 403U, 404U, 409U, 410U, 422U, 501U, 600U}) {
    EXPECT_FALSE(waitBeforeRetry(ApiAnswer{status, ""}, 1, 0)) << status;
  }
  EXPECT_TRUE(waitBeforeRetry(Failure{ApiFailure{"hung up"}}, 1, 0));
}

TEST(WaitBeforeRetry, FullJitterBelowABackoffThatDoubles) {
  const ApiOutcome lost = Failure{ApiFailure{"hung up"}};
  EXPECT_THAT(waitedMs(lost, 1, 0), Eq(0));
  EXPECT_THAT(waitedMs(lost, 1, 0.5), Eq(125));
  EXPECT_THAT(waitedMs(lost, 2, 0.5), Eq(250));
  EXPECT_THAT(waitedMs(lost, 3, 0.5), Eq(500));
  EXPECT_THAT(waitedMs(lost, 4, 0.5), Eq(1000));
  EXPECT_THAT(waitedMs(lost, 5, 0.5), Eq(std::nullopt));
  EXPECT_THAT(waitedMs(lost, 500, 0.5), Eq(std::nullopt));
}

TEST(WaitBeforeRetry, WhatTheServerAsksForComesFirstUnlessItIsMuch) {
  EXPECT_THAT(waitedMs(ApiAnswer{429, "", 1 * kj::SECONDS}, 1, 0), Eq(1000));
  EXPECT_THAT(waitedMs(ApiAnswer{429, "", 1 * kj::SECONDS}, 1, 0.5), Eq(1125));
  EXPECT_THAT(waitedMs(ApiAnswer{503, "", 60 * kj::SECONDS}, 1, 0), Eq(60'000));
  EXPECT_THAT(waitedMs(ApiAnswer{429, "", 61 * kj::SECONDS}, 1, 0), Eq(std::nullopt));
  EXPECT_THAT(waitedMs(ApiAnswer{429, "", 1 * kj::SECONDS}, kMostApiTries, 0), Eq(std::nullopt));
}

}  // namespace
}  // namespace vfiogate
