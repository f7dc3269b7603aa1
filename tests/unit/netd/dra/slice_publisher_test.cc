#include "netd/dra/slices/slice_publisher.h"

#include "netd/dra/slices/publish_pacing.h"
#include "netd/dra/slices/slice.h"
#include "tests/unit/netd/dra/slice_publisher_case.h"

#include <gmock/gmock.h>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(SlicePublisherTest, ReadsThenWritesThenWatches) {
  auto stored = publisher_.publish(publishedPool());
  settle();
  EXPECT_THAT(api_.journal, IsEmpty()) << "not all nodes at the same moment";
  pass(kStartSpread / 2);
  EXPECT_THAT(api_.journal, ElementsAre("GET " + kGroup, "GET /api/v1/nodes/n1", "GET " + kPath,
                                        "WATCH", "POST " + kPath, "POST " + kPath));
  ASSERT_TRUE(stored.poll(scope_));
  EXPECT_EQ(stored.wait(scope_),
            (KeptFields{.counters = true, .taints = true, .api = ResourceApi::kV1}));
  EXPECT_THAT(api_.listPaths, ElementsAre(HasSubstr("&resourceVersion=0")));
  EXPECT_THAT(api_.listPaths[0],
              HasSubstr("fieldSelector=spec.nodeName%3Dn1%2Cspec.driver%3Dd.example&"));
  EXPECT_THAT(api_.watchPaths, ElementsAre(HasSubstr("&resourceVersion=100&timeoutSeconds=450")));
  EXPECT_THAT(news_.stored, ElementsAre("2/2"));
}

TEST_F(SlicePublisherTest, SteadyStateMakesNoRequests) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.journal.size();
  for (int i = 0; i < 48; ++i) pass(1800 * kj::SECONDS);
  EXPECT_THAT(since(before), IsEmpty());
  auto again = publisher_.publish(publishedPool());
  pass(1 * kj::SECONDS);
  EXPECT_TRUE(again.poll(scope_));
  EXPECT_THAT(since(before), IsEmpty());
}

TEST_F(SlicePublisherTest, TextThatIsNoUtf8KeepsNoPoolBack) {
  DevicePool pool = publishedPool();
  pool.devices.begin()->second.attributes["product"] = std::string("caf\xe9");
  publishAtOnce(pool);
  EXPECT_THAT(news_.stored, ElementsAre("2/2"));
  const std::size_t before = api_.journal.size();
  passAll(60);
  EXPECT_THAT(since(before), IsEmpty()) << "what the server has is written again and again";
}

TEST_F(SlicePublisherTest, WhatIsThrownIsToldAndTriedAgain) {
  api_.order({.begin = "POST", .throws = true});
  publishAtOnce(publishedPool());
  EXPECT_THAT(news_.troubles, ElementsAre(HasSubstr("thrown by order")));
  passAll(60);
  EXPECT_THAT(news_.stored, ElementsAre("2/2"));
}

TEST_F(SlicePublisherTest, ARestartFindsItsSlicesAndWritesNothing) {
  publishAtOnce(publishedPool(100));
  SlicePublisher next({api_, versions_, timer_, news_, "n1", [this]() { return unit_; }});
  const std::size_t before = api_.journal.size();
  auto stored = next.publish(publishedPool(100));
  pass(kStartSpread);
  EXPECT_TRUE(stored.poll(scope_));
  EXPECT_THAT(since(before),
              ElementsAre("GET " + kGroup, "GET /api/v1/nodes/n1", "GET " + kPath, "WATCH"));
}

TEST_F(SlicePublisherTest, AChangedPoolIsWrittenAtOnceAndOnlyWhatChanged) {
  publishAtOnce(publishedPool(100));
  const std::size_t before = api_.journal.size();
  DevicePool pool = publishedPool(100);
  pool.devices.rbegin()->second.taints.push_back({"d.example/held", "", {}});
  auto stored = publisher_.publish(pool);
  settle();
  EXPECT_TRUE(stored.poll(scope_));
  EXPECT_THAT(since(before), ElementsAre("PUT " + kPath + "/n1-d.example-001"));
}

TEST_F(SlicePublisherTest, ALaterPoolEndsTheOneBeforeWithTheSameAnswer) {
  api_.dropsCounters = true;
  auto first = publisher_.publish(publishedPool(1));
  auto second = publisher_.publish(publishedPool(2));
  pass(kStartSpread);
  const KeptFields dropped{.counters = false, .taints = true, .api = ResourceApi::kV1};
  ASSERT_TRUE(first.poll(scope_));
  EXPECT_EQ(first.wait(scope_), dropped);
  EXPECT_EQ(second.wait(scope_), dropped);
  EXPECT_EQ(api_.count("POST"), 2U);
}

TEST_F(SlicePublisherTest, AServerThatDropsFieldsIsLeftInPeace) {
  api_.dropsCounters = true;
  publishAtOnce(publishedPool());
  const std::size_t before = api_.journal.size();
  passAll(600);
  EXPECT_THAT(since(before), IsEmpty());
}

TEST_F(SlicePublisherTest, AfterTheKubeletsWipeAllIsThereAgainWithinSeconds) {
  publishAtOnce(publishedPool(100));
  const std::size_t before = api_.journal.size();
  api_.wipe();
  settle();
  EXPECT_THAT(since(before), IsEmpty()) << "it may not be over";
  pass(kSettleMost);
  EXPECT_THAT(api_.slices, SizeIs(3));
  EXPECT_THAT(since(before), ElementsAre("GET /api/v1/nodes/n1", "POST " + kPath, "POST " + kPath,
                                         "POST " + kPath))
      << "what the watch told is not listed again";
}

TEST_F(SlicePublisherTest, ANodeThatIsAnotherOneBecomesTheOwner) {
  publishAtOnce(publishedPool());
  api_.nodeUid = "another";
  api_.wipe();
  pass(kSettleMost);
  EXPECT_EQ(api_.slices.at("n1-d.example-000")["metadata"]["ownerReferences"][0]["uid"], "another");
}

TEST_F(SlicePublisherTest, WhateverOthersChangeIsPutRight) {
  publishAtOnce(publishedPool());
  auto slice = api_.slices.at("n1-d.example-000");
  slice["spec"]["devices"][0]["attributes"]["model"] = {{"string", "forged"}};
  api_.put(slice);
  auto added = api_.slices.at("n1-d.example-000");
  added["metadata"]["name"] = "by-hand";
  api_.put(added);
  pass(kSettleMost);
  EXPECT_THAT(api_.slices, SizeIs(2));
  EXPECT_FALSE(api_.slices.at("n1-d.example-000")["spec"]["devices"][0].contains("attributes"));
}

TEST_F(SlicePublisherTest, WhatOthersSayBesideTheSpecIsTheirs) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.journal.size();
  auto slice = api_.slices.at("n1-d.example-000");
  slice["metadata"]["labels"] = {{"a", "b"}};
  api_.put(slice);
  passAll(60);
  EXPECT_THAT(since(before), IsEmpty());
  DevicePool pool = publishedPool();
  pool.devices.begin()->second.attributes["model"] = std::string("x");
  auto stored = publisher_.publish(pool);
  settle();
  EXPECT_EQ(api_.slices.at("n1-d.example-000")["metadata"]["labels"]["a"], "b");
}

TEST_F(SlicePublisherTest, WhoeverUndoesItForEverIsNotAnsweredForEver) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.count("P");
  for (int second = 0; second < 3600; ++second) {
    if (!api_.slices.empty()) api_.wipe();
    pass(1 * kj::SECONDS);
  }
  const std::size_t writes = api_.count("P") - before;
  EXPECT_GE(writes, 10U);
  EXPECT_LE(writes, 100U) << "an hour of 120 s each, and the first few sooner";
}

TEST_F(SlicePublisherTest, WhatIsDeletedWhileItIsWrittenIsMissedAndNotWrittenInAStorm) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.count("P");
  api_.sabotages = 1000;
  api_.wipe();
  passAll(3600);
  EXPECT_GE(api_.count("P") - before, 10U);
  EXPECT_LE(api_.count("P") - before, 100U);
  api_.sabotages = 0;
  passAll(300);
  EXPECT_THAT(api_.slices, SizeIs(2));
}

TEST_F(SlicePublisherTest, AConflictIsReadAgainAtOnce) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.journal.size();
  api_.order({.begin = "PUT", .status = 409});
  DevicePool pool = publishedPool();
  pool.devices.begin()->second.attributes["model"] = std::string("x");
  auto stored = publisher_.publish(pool);
  settle();
  EXPECT_TRUE(stored.poll(scope_));
  const std::string put = "PUT " + kPath + "/n1-d.example-000";
  EXPECT_THAT(since(before),
              ElementsAre(put, "GET /api/v1/nodes/n1", "GET " + kPath, "WATCH", put));
  EXPECT_EQ(api_.listPaths.back().find("&resourceVersion=0"), std::string::npos)
      << "the server's memory may be older than the conflict";
  EXPECT_THAT(news_.troubles, IsEmpty());
}

TEST_F(SlicePublisherTest, ConflictsWithoutEndAreSpacedOut) {
  api_.order({.begin = "POST", .status = 409, .times = 1000});
  publishAtOnce(publishedPool());
  passAll(3600);
  EXPECT_LE(api_.count("POST"), 3600U / 30U + 10U);
  EXPECT_THAT(news_.troubles, ElementsAre(HasSubstr("answers 409: by order")));
}

TEST_F(SlicePublisherTest, AThrottledWriteIsTriedAgainAndNothingElse) {
  api_.order({.begin = "POST", .status = 429, .times = 2});
  publishAtOnce(publishedPool());
  passAll(60);
  EXPECT_EQ(api_.count("POST"), 4U);
  EXPECT_EQ(api_.count("GET " + kPath), 1U);
  EXPECT_THAT(news_.stored, ElementsAre("2/2"));
}

TEST_F(SlicePublisherTest, AServerIsNotAskedBeforeItWantsToBe) {
  api_.retryAfter = 30 * kj::SECONDS;
  api_.order({.begin = "POST", .status = 429});
  publishAtOnce(publishedPool());
  passAll(29);
  EXPECT_EQ(api_.count("POST"), 1U);
  passAll(3);
  EXPECT_EQ(api_.count("POST"), 3U);
}

TEST_F(SlicePublisherTest, AnAnswerThatIsLostIsLookedForFirst) {
  api_.order({.begin = "POST", .status = 0, .times = 1, .done = true});
  publishAtOnce(publishedPool());
  passAll(10);
  EXPECT_EQ(api_.count("POST"), 2U) << "the first was carried out";
  EXPECT_EQ(api_.count("GET " + kPath), 2U);
  EXPECT_EQ(generation(), 1);
  EXPECT_THAT(api_.slices, SizeIs(2));
}

TEST_F(SlicePublisherTest, AServerThatIsAwayIsAskedSeldomAndNothingIsLost) {
  api_.order({.begin = "GET", .status = 0, .times = 60});
  auto stored = publisher_.publish(publishedPool());
  passAll(1800);
  EXPECT_LE(api_.journal.size(), 1800U / 30U + 10U);
  EXPECT_FALSE(stored.poll(scope_));
  EXPECT_THAT(news_.troubles, ElementsAre(HasSubstr("no answer by order")));
  passAll(1800);
  EXPECT_TRUE(stored.poll(scope_));
  EXPECT_THAT(api_.slices, SizeIs(2));
}

TEST_F(SlicePublisherTest, ANameThatSomebodyElseHasIsToldAndLeftAlone) {
  Slice other{.name = "n1-d.example-000", .uid = "u", .resourceVersion = "1"};
  other.spec = {.driver = "example", .node = "n1-d", .pool = "p", .generation = 1, .sliceCount = 1};
  api_.put(jsonOf(other, ResourceApi::kV1));
  publishAtOnce(publishedPool());
  passAll(120);
  EXPECT_THAT(news_.troubles,
              testing::Contains(HasSubstr("is taken by a ResourceSlice of driver example")));
  EXPECT_EQ(api_.slices.at("n1-d.example-000")["spec"]["driver"], "example");
}

TEST_F(SlicePublisherTest, AWatchThatEndsGoesOnWhereItEnded) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.journal.size();
  api_.say(R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "777"}}})");
  api_.endWatch(ApiAnswer{200, "", std::nullopt});
  pass(kSettleMost);
  api_.endWatch(Failure{ApiFailure{"connection lost"}});
  pass(kMostPublishBackoff);
  EXPECT_THAT(since(before), ElementsAre("WATCH", "GET " + kGroup, "WATCH"))
      << "after a failure it may be another server";
  EXPECT_THAT(api_.watchPaths.back(), HasSubstr("&resourceVersion=777&"));
}

TEST_F(SlicePublisherTest, AWatchThatExpiredIsListedAgain) {
  publishAtOnce(publishedPool());
  for (const bool asEvent : {true, false}) {
    const std::size_t before = api_.journal.size();
    if (asEvent) api_.say(R"({"type": "ERROR", "object": {"code": 410}})");
    api_.endWatch(ApiAnswer{asEvent ? 200U : 410U, "", std::nullopt});
    api_.slices.erase("n1-d.example-000");
    settle();
    EXPECT_THAT(since(before), IsEmpty()) << "all nodes' watches expire together";
    pass(kSettleMost);
    EXPECT_THAT(since(before), ElementsAre("GET " + kPath, "WATCH", "POST " + kPath));
    EXPECT_THAT(api_.slices, SizeIs(2));
    pass(kSettleForgotten * 2);
  }
}

// The server may keep it open for minutes, and tells what nobody hears.
TEST_F(SlicePublisherTest, AWatchThatIsOfNoUseAnyMoreIsReplacedWhileItStands) {
  publishAtOnce(publishedPool());
  for (const char* line : {R"({"type": "ERROR", "object": {"code": 410}})", "{"}) {
    const std::size_t before = api_.journal.size();
    api_.say(line);
    api_.remove("n1-d.example-000");
    settle();
    EXPECT_THAT(since(before), IsEmpty()) << "all nodes' watches expire together";
    pass(kSettleMost);
    EXPECT_THAT(since(before), ElementsAre("GET " + kPath, "WATCH", "POST " + kPath)) << line;
    EXPECT_THAT(api_.slices, SizeIs(2));
    pass(kSettleForgotten * 2);
  }
}

TEST_F(SlicePublisherTest, AWatchThatFailsAtOnceIsNotAskedWithoutEnd) {
  publishAtOnce(publishedPool());
  const std::size_t before = api_.watchPaths.size();
  for (int second = 0; second < 3600; ++second) {
    if (api_.isWatched()) api_.endWatch(ApiAnswer{503, "", std::nullopt});
    pass(1 * kj::SECONDS);
  }
  EXPECT_LE(api_.watchPaths.size() - before, 3600U / 30U + 10U);
}

TEST_F(SlicePublisherTest, ALargeListComesInPages) {
  publishAtOnce(publishedPool(300));
  SlicePublisher next({api_, versions_, timer_, news_, "n1", [this]() { return unit_; }});
  api_.pageSize = 2;
  const std::size_t before = api_.listPaths.size();
  const std::size_t writes = api_.count("P");
  auto stored = next.publish(publishedPool(300));
  pass(kStartSpread);
  EXPECT_TRUE(stored.poll(scope_));
  EXPECT_EQ(api_.listPaths.size() - before, 3U);
  EXPECT_EQ(api_.count("P"), writes);
}

TEST_F(SlicePublisherTest, NonsenseFromTheServerIsTroubleInWords) {
  publishAtOnce(publishedPool());
  for (const char* line : {"", "{", "[]", R"({"type": "ADDED"})", R"({"type": 7, "object": {}})"}) {
    const std::size_t lists = api_.listPaths.size();
    api_.say(line);
    api_.endWatch(ApiAnswer{200, "", std::nullopt});
    pass(kSettleMost);
    EXPECT_EQ(api_.listPaths.size(), lists + 1) << line;
    pass(kSettleForgotten * 2);
  }
}

TEST(PublishPacing, StaysWithinItsBounds) {
  EXPECT_EQ(startDelay(0), 0 * kj::SECONDS);
  EXPECT_LT(startDelay(0.999), kStartSpread);
  EXPECT_EQ(settleTime(0, 0), kSettleLeast);
  EXPECT_LT(settleTime(0, 0.999), kSettleMost);
  EXPECT_EQ(settleTime(1000, 0.999), kSettleCap);
  EXPECT_EQ(publishBackoff(1, 0), kPublishBackoff / 2);
  EXPECT_EQ(publishBackoff(2, 0), kPublishBackoff);
  EXPECT_EQ(publishBackoff(4000000000U, 0), kMostPublishBackoff / 2);
  EXPECT_GE(watchTime(0), kWatchLeast);
}

}  // namespace
}  // namespace vfiogate::test
