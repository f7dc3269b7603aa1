// Watches. The fixture says what is on the other side.

#include "tests/integration/dra/kj_api_client_case.h"

#include <memory>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(KjApiClientTest, AWatchTellsEachLineUntilItEnds) {
  start();
  const json list = json::parse(get(kClaims)->body);
  const auto version = list.at("metadata").at("resourceVersion").get<std::string>();
  std::vector<std::string> seen;
  bool ended = false;
  auto watching = client_
                      ->watch(kClaims + "?watch=1&resourceVersion=" + version,
                              [&seen](const std::string& line) {
                                seen.push_back(json::parse(line).at("type"));
                              })
                      .then([&ended](Outcome outcome) {
                        ended = true;
                        return outcome;
                      })
                      .eagerlyEvaluate(nullptr);
  server_->makeClaim("c", "d", {});
  server_->deleteClaim("c");
  while (seen.size() < 2) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    ASSERT_FALSE(ended);
  }
  EXPECT_THAT(seen, ElementsAre("ADDED", "DELETED"));
  // Another request goes its own way meanwhile.
  EXPECT_EQ(whyOf(get()), "answers 200");
  server_->control({{"endWatches", true}});
  EXPECT_EQ(whyOf(watching.wait(io_.waitScope)), "answers 200");
}

TEST_F(KjApiClientTest, AWatchThatIsRefusedSaysWhy) {
  start();
  order({{"status", 410}});
  const auto outcome = client_->watch(kNode, [](const std::string&) {}).wait(io_.waitScope);
  ASSERT_TRUE(outcome) << outcome.error().why;
  EXPECT_EQ(outcome->status, 410U);
}

TEST_F(KjApiClientTest, ALineOfAWatchIsBounded) {
  start();
  order({{"bodyBytes", (1U << 20U) + 1U}});
  const auto outcome = client_->watch(kNode, [](const std::string&) {}).wait(io_.waitScope);
  EXPECT_THAT(whyOf(outcome), HasSubstr("longer than 1 MiB"));
}

TEST_F(KjApiClientTest, ASilentWatchIsBrokenOff) {
  start();
  server_->makeClaim("c", "d", {});
  bool began = false;
  std::unique_ptr<Outcome> got;
  auto watching = client_
                      ->watch(kClaims + "?watch=1&resourceVersion=0",
                              [&began](const std::string&) { began = true; })
                      .then([&got](Outcome outcome) { got = std::make_unique<Outcome>(outcome); })
                      .eagerlyEvaluate(nullptr);
  while (!began && !got) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    // Another version makes news.
    server_->deleteClaim("c");
    server_->makeClaim("c", "d", {});
  }
  const auto begin = timer_.now();
  while (!got) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    timer_.advanceTo(timer_.now() + 2 * kj::SECONDS);
  }
  EXPECT_EQ(whyOf(*got), "no whole answer in time");
  EXPECT_GE(timer_.now() - begin, 10 * kj::MINUTES);
}

}  // namespace
}  // namespace vfiogate::test
