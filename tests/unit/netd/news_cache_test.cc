#include "netd/metrics/news_cache.h"

#include <gmock/gmock.h>
#include <kj/async.h>
#include <kj/timer.h>

#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

/// Answers when it is told to.
class HeldSource final : public PlugindSource {
public:
  kj::Promise<PlugindAnswer> ask() override {
    ++asked;
    auto pair = kj::newPromiseAndFulfiller<PlugindAnswer>();
    open_ = kj::mv(pair.fulfiller);
    return kj::mv(pair.promise);
  }
  void answer(const std::string& why) { open_->fulfill(PlugindNews{"text", true, why}); }
  void fail(const std::string& why) { open_->fulfill(Failure{why}); }

  int asked = 0;

private:
  kj::Own<kj::PromiseFulfiller<PlugindAnswer>> open_;
};

class NewsCacheTest : public testing::Test {
protected:
  ~NewsCacheTest() noexcept override = default;

  NewsCache::Latest get(kj::Promise<NewsCache::Latest> promise) { return promise.wait(scope_); }
  void pass(kj::Duration time) { timer_.advanceTo(timer_.now() + time); }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  NetdCounters counters_;
  HeldSource source_;
  NewsCache cache_{source_, timer_, counters_};
};

TEST_F(NewsCacheTest, WhoeverComesWhilePlugindIsAskedWaitsForTheSameAnswer) {
  std::vector<kj::Promise<NewsCache::Latest>> waiting;
  for (int i = 0; i < 100; ++i) waiting.push_back(cache_.latest());
  EXPECT_EQ(source_.asked, 1);
  EXPECT_FALSE(waiting.back().poll(scope_));
  source_.answer("all");
  for (auto& promise : waiting) EXPECT_EQ((*get(kj::mv(promise)))->why, "all");
  EXPECT_THAT(counters_.text(), HasSubstr("vfiogate_netd_cached_answers_total 99"));
}

TEST_F(NewsCacheTest, AnAnswerStandsForASecond) {
  auto first = cache_.latest();
  source_.answer("first");
  get(kj::mv(first));
  pass(999 * kj::MILLISECONDS);
  EXPECT_EQ((*get(cache_.latest()))->why, "first");
  EXPECT_EQ(source_.asked, 1);
  pass(1 * kj::MILLISECONDS);
  auto second = cache_.latest();
  EXPECT_EQ(source_.asked, 2);
  source_.answer("second");
  EXPECT_EQ((*get(kj::mv(second)))->why, "second");
}

TEST_F(NewsCacheTest, AFailureStandsAsLongAndIsGotOver) {
  auto first = cache_.latest();
  source_.fail("gone");
  EXPECT_EQ(get(kj::mv(first))->error(), "gone");
  EXPECT_EQ(get(cache_.latest())->error(), "gone");
  EXPECT_EQ(source_.asked, 1);
  pass(1 * kj::SECONDS);
  auto second = cache_.latest();
  source_.answer("back");
  EXPECT_TRUE(*get(kj::mv(second)));
  EXPECT_THAT(counters_.text(), HasSubstr("questions_total{outcome=\"failed\"} 1"));
  EXPECT_THAT(counters_.text(), HasSubstr("questions_total{outcome=\"answered\"} 1"));
}

TEST_F(NewsCacheTest, AQuestionWhoseAskersHaveLeftIsNotAskedAgain) {
  { const auto left = cache_.latest(); }
  auto later = cache_.latest();
  EXPECT_EQ(source_.asked, 1);
  source_.answer("all");
  EXPECT_EQ((*get(kj::mv(later)))->why, "all");
}

}  // namespace
}  // namespace vfiogate
