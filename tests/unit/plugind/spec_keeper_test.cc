// When privd is asked for specs, against one that only takes notes.

#include "plugind/loop/spec_keeper.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <vector>

namespace vfiogate {
namespace {

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/gpu");
const Bdf kA = *Bdf::parse("0000:01:00.0");

class NotingStore final : public SpecStore {
public:
  kj::Promise<std::optional<SpecAnswer>> declareSpecs(
      const std::vector<StaticSpec>& specs) override {
    asked.push_back(specs.size());
    auto pair = kj::newPromiseAndFulfiller<std::optional<SpecAnswer>>();
    waiting_ = kj::mv(pair.fulfiller);
    return kj::mv(pair.promise);
  }
  void answer(SpecAnswer answer) { waiting_->fulfill(std::move(answer)); }

  std::vector<std::size_t> asked;  ///< for how many specs

private:
  kj::Own<kj::PromiseFulfiller<std::optional<SpecAnswer>>> waiting_;
};

SpecPlan planOf(const std::string& node) {
  return {
      .specs = {{.resource = kGpu.str(), .devices = {kA}}}, .tooMany = {}, .nodes = {{kA, {node}}}};
}
SpecAnswer written(const std::string& node) {
  return {.specs = {{kGpu, {"", {{kA, {node}}}}}}};
}
SpecAnswer failed() {
  return {.specs = {{kGpu, {"disk full", {}}}}, .passing = true};
}

class SpecKeeperTest : public testing::Test {
protected:
  ~SpecKeeperTest() noexcept override = default;

  void pass(kj::Duration time) {
    now_ += time;
    timer_.advanceTo(now_);
    io_.waitScope.poll();
  }
  void answer(SpecAnswer answer) {
    store_.answer(std::move(answer));
    io_.waitScope.poll();
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::TimePoint now_ = kj::origin<kj::TimePoint>();
  kj::TimerImpl timer_{now_};
  NotingStore store_;
  int settled_ = 0;
  SpecKeeper keeper_{store_, timer_, [this]() { ++settled_; }};
};

TEST_F(SpecKeeperTest, WaitsUntilPrivdHasWritten) {
  keeper_.privdCame();
  EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/12")));
  EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/12")));
  answer(written("/dev/vfio/12"));
  EXPECT_EQ(settled_, 1);
  EXPECT_TRUE(keeper_.settle(planOf("/dev/vfio/12")));
  EXPECT_EQ(keeper_.specs().at(kGpu).nodes.size(), 1U);
  EXPECT_EQ(store_.asked.size(), 1U);
}

TEST_F(SpecKeeperTest, AsksAnewWhereANumberChanged) {
  keeper_.privdCame();
  keeper_.settle(planOf("/dev/vfio/12"));
  answer(written("/dev/vfio/12"));
  EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/40")));
  answer(written("/dev/vfio/40"));
  EXPECT_TRUE(keeper_.settle(planOf("/dev/vfio/40")));
  EXPECT_EQ(store_.asked.size(), 2U);
}

TEST_F(SpecKeeperTest, IsNotHeldUpByPrivdThatIsAway) {
  EXPECT_TRUE(keeper_.settle(planOf("/dev/vfio/12")));
  EXPECT_TRUE(store_.asked.empty());
}

TEST_F(SpecKeeperTest, AsksAgainWhenPrivdIsBack) {
  keeper_.privdCame();
  keeper_.settle(planOf("/dev/vfio/12"));
  answer(written("/dev/vfio/12"));
  keeper_.privdWent();
  EXPECT_TRUE(keeper_.settle(planOf("/dev/vfio/12")));
  keeper_.privdCame();
  EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/12")));
  EXPECT_EQ(store_.asked.size(), 2U);
}

TEST_F(SpecKeeperTest, AnAnswerOfAPrivdThatWentCountsForNothing) {
  keeper_.privdCame();
  keeper_.settle(planOf("/dev/vfio/12"));
  keeper_.privdWent();
  answer(written("/dev/vfio/12"));
  EXPECT_EQ(settled_, 0);
  EXPECT_TRUE(keeper_.specs().empty());
}

TEST_F(SpecKeeperTest, TellsThatNoneIsWantedAndDoesNotWait) {
  keeper_.privdCame();
  EXPECT_TRUE(keeper_.settle({}));
  EXPECT_EQ(store_.asked, std::vector<std::size_t>{0}) << "what another plugind left goes";
}

TEST_F(SpecKeeperTest, TriesAgainEverMoreSeldom) {
  keeper_.privdCame();
  keeper_.settle(planOf("/dev/vfio/12"));
  answer(failed());
  EXPECT_TRUE(keeper_.settle(planOf("/dev/vfio/12"))) << "the others wait for it no longer";
  pass(999 * kj::MILLISECONDS);
  EXPECT_EQ(settled_, 1);
  for (const auto pause : {1, 2, 4, 8, 16, 30, 30}) {
    const int before = settled_;
    pass(pause * kj::SECONDS - 2 * kj::MILLISECONDS);
    EXPECT_EQ(settled_, pause > 1 ? before : settled_) << pause;
    pass(2 * kj::MILLISECONDS);
    EXPECT_EQ(settled_, before + 1) << pause;
    EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/12"))) << pause;
    answer(failed());
  }
  const int before = settled_;
  pass(30 * kj::SECONDS);
  EXPECT_EQ(settled_, before + 1);
  keeper_.settle(planOf("/dev/vfio/12"));
  answer(written("/dev/vfio/12"));
  pass(59 * kj::SECONDS);
  EXPECT_EQ(settled_, before + 2) << "it is written";
}

TEST_F(SpecKeeperTest, AsksOnceAMinuteInCaseSomebodyDidSomethingToTheFiles) {
  keeper_.privdCame();
  keeper_.settle(planOf("/dev/vfio/12"));
  answer(written("/dev/vfio/12"));
  pass(60 * kj::SECONDS);
  EXPECT_EQ(settled_, 2);
  EXPECT_FALSE(keeper_.settle(planOf("/dev/vfio/12")));
  EXPECT_EQ(store_.asked.size(), 2U);
}

TEST_F(SpecKeeperTest, LeavesAPrivdInPeaceOfWhichNothingIsWanted) {
  keeper_.privdCame();
  keeper_.settle({});
  answer({});
  pass(3600 * kj::SECONDS);
  EXPECT_TRUE(keeper_.settle({}));
  EXPECT_EQ(store_.asked.size(), 1U);
}

TEST_F(SpecKeeperTest, SaysOfThoseForWhichThereIsNoRoom) {
  keeper_.privdCame();
  SpecPlan plan = planOf("/dev/vfio/12");
  plan.tooMany.insert(*ResourceName::parse("vfiogate.dev/many"));
  keeper_.settle(plan);
  answer(written("/dev/vfio/12"));
  EXPECT_NE(keeper_.specs().at(*ResourceName::parse("vfiogate.dev/many")).trouble, "");
  EXPECT_EQ(keeper_.specs().at(kGpu).trouble, "");
}

}  // namespace
}  // namespace vfiogate
