#include "plugind/base/concurrency_limit.h"

#include <gtest/gtest.h>

#include <kj/debug.h>

#include <vector>

namespace vfiogate {
namespace {

/// Calls that begin when let in, and end when the test says so.
struct Stage {
  kj::Promise<int> call(ConcurrencyLimit& limit, int number) {
    return limit
        .pass([this, number]() {
          auto pair = kj::newPromiseAndFulfiller<int>();
          started.push_back(number);
          fulfillers.push_back(kj::mv(pair.fulfiller));
          return kj::mv(pair.promise);
        })
        .eagerlyEvaluate(nullptr);
  }

  /// Who was let in, once everything has come to rest.
  std::vector<int> begun() {
    kj::Promise<void>(kj::NEVER_DONE).poll(scope);
    return started;
  }

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  std::vector<int> started;
  std::vector<kj::Own<kj::PromiseFulfiller<int>>> fulfillers;
};

using Numbers = std::vector<int>;

TEST(ConcurrencyLimit, LetsInAsManyAsThereArePlacesAndThenOneByOne) {
  Stage stage;
  ConcurrencyLimit limit(2);
  auto first = stage.call(limit, 1);
  auto second = stage.call(limit, 2);
  auto third = stage.call(limit, 3);
  EXPECT_EQ(stage.begun(), (Numbers{1, 2}));
  stage.fulfillers[1]->fulfill(22);
  EXPECT_EQ(second.wait(stage.scope), 22);
  EXPECT_EQ(stage.begun(), (Numbers{1, 2, 3}));
}

TEST(ConcurrencyLimit, ADroppedCallGivesItsPlaceAway) {
  Stage stage;
  ConcurrencyLimit limit(1);
  auto first = stage.call(limit, 1);
  auto second = stage.call(limit, 2);
  auto third = stage.call(limit, 3);
  EXPECT_EQ(stage.begun(), (Numbers{1}));
  second = nullptr;  // while it waits
  first = nullptr;   // while it runs
  EXPECT_EQ(stage.begun(), (Numbers{1, 3}));
}

TEST(ConcurrencyLimit, AFailedCallGivesItsPlaceAway) {
  Stage stage;
  ConcurrencyLimit limit(1);
  auto first = stage.call(limit, 1);
  auto second = stage.call(limit, 2);
  EXPECT_EQ(stage.begun(), (Numbers{1}));
  stage.fulfillers[0]->reject(KJ_EXCEPTION(FAILED, "a test"));
  EXPECT_EQ(stage.begun(), (Numbers{1, 2}));
}

TEST(ConcurrencyLimit, CallsMayOutliveIt) {
  Stage stage;
  kj::Promise<int> running = nullptr;
  {
    ConcurrencyLimit limit(1);
    running = stage.call(limit, 1);
    EXPECT_EQ(stage.begun(), (Numbers{1}));
  }
  stage.fulfillers[0]->fulfill(11);
  EXPECT_EQ(running.wait(stage.scope), 11);
}

}  // namespace
}  // namespace vfiogate
