#include "plugind/base/task_queue.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include <thread>
#include <vector>

namespace vfiogate {
namespace {

constexpr auto kPatience = 20 * kj::SECONDS;

TEST(TaskQueue, CarriesOutLettersOfManyThreadsEachInItsOrder) {
  constexpr int kThreads = 4;
  constexpr int kLetters = 500;
  auto io = kj::setupAsyncIo();
  TaskQueue box;
  std::vector<int> next(kThreads, 0);
  int outOfOrder = 0;
  auto all = kj::newPromiseAndFulfiller<void>();
  int carriedOut = 0;
  auto reading = box.run(io.unixEventPort).eagerlyEvaluate(nullptr);
  std::vector<std::thread> threads;
  for (int who = 0; who < kThreads; ++who) {
    threads.emplace_back([&, who]() {
      for (int i = 0; i < kLetters; ++i) {
        EXPECT_TRUE(box.post([&, who, i]() {
          outOfOrder += next.at(static_cast<std::size_t>(who))++ == i ? 0 : 1;
          if (++carriedOut == kThreads * kLetters) all.fulfiller->fulfill();
        }));
      }
    });
  }
  io.provider->getTimer().timeoutAfter(kPatience, kj::mv(all.promise)).wait(io.waitScope);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(outOfOrder, 0);
}

TEST(TaskQueue, ALetterThatThrowsDoesNotStopTheNext) {
  auto io = kj::setupAsyncIo();
  TaskQueue box;
  auto next = kj::newPromiseAndFulfiller<void>();
  EXPECT_TRUE(box.post([]() { KJ_FAIL_REQUIRE("a test"); }));
  EXPECT_TRUE(box.post([&]() { next.fulfiller->fulfill(); }));
  auto reading = box.run(io.unixEventPort).eagerlyEvaluate(nullptr);
  io.provider->getTimer().timeoutAfter(kPatience, kj::mv(next.promise)).wait(io.waitScope);
}

TEST(TaskQueue, OnceClosedTakesNothing) {
  auto io = kj::setupAsyncIo();
  TaskQueue box;
  bool carriedOut = false;
  EXPECT_TRUE(box.post([&]() { carriedOut = true; }));
  box.close();
  EXPECT_FALSE(box.post([]() {}));
  auto reading = box.run(io.unixEventPort).eagerlyEvaluate(nullptr);
  reading.poll(io.waitScope);
  EXPECT_FALSE(carriedOut);
}

}  // namespace
}  // namespace vfiogate
