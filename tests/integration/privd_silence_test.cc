// plugind's end of the privilege line where one of privd's processes is slow, or says nothing.

#include "tests/integration/privd_link_case.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

class PrivdSilenceTest : public PrivdLinkTest {
protected:
  ~PrivdSilenceTest() noexcept override = default;

  /// What it becomes, as soon as it does.
  std::shared_ptr<std::optional<GroupReading>> readAtAll(kj::Promise<GroupReading> promise) {
    auto read = std::make_shared<std::optional<GroupReading>>();
    reading_ = promise.then([read](GroupReading reading) { *read = std::move(reading); })
                   .eagerlyEvaluate(nullptr);
    return read;
  }

  kj::Promise<void> reading_ = nullptr;
};

// Stopped, or in a read that does not come back: its socket stays open.
TEST_F(PrivdSilenceTest, I3_AHardwareProcessThatDoesNotAnswerIsHungUpOnAndMayComeBack) {
  startPrivd();
  privd_->stallRereads();
  std::vector<kj::Promise<GroupReading>> readings;
  for (int i = 0; i < 30; ++i) readings.push_back(link().reread(IommuGroupId(31)));
  auto first = readAtAll(kj::mv(readings.front()));
  ASSERT_TRUE(until([&] { return first->has_value(); }));
  EXPECT_EQ((*first)->answer, GroupReading::Answer::kPrivdAway);
  for (std::size_t i = 1; i < readings.size(); ++i) {
    EXPECT_EQ(await(kj::mv(readings[i])).answer, GroupReading::Answer::kPrivdAway);
  }
  EXPECT_TRUE(until([this] { return privd_->sessions() == 2; }));
  EXPECT_EQ(privd_->hangUps(), 1U) << "the gate is there, and comes again, too";
}

// On an idle node the metrics alone ask it anything.
TEST_F(PrivdSilenceTest, I3_AHardwareProcessThatTellsTheMetricsNothingIsHungUpOnAndMayComeBack) {
  startPrivd();
  privd_->stallDiscovery();
  for (int visit = 0; visit < 20; ++visit) {
    EXPECT_FALSE(await(link().discovery()).has_value()) << visit;
  }
  EXPECT_EQ(privd_->discoveries(), 1U);
  EXPECT_TRUE(events_.there);
  EXPECT_TRUE(until([this] { return privd_->sessions() == 2; }));
  EXPECT_EQ(privd_->hangUps(), 1U);
}

TEST_F(PrivdSilenceTest, ABinderThatDoesNotAnswerWithholdsNoReading) {
  Hardware blind = twoGroups();
  blind.group(31).use = GroupUse::kBlind;
  startPrivd();
  privd_->setHardware(blind.snapshot());
  privd_->stallProbes();
  auto reading = readAtAll(link().rereadAndProbe(IommuGroupId(31)));
  ASSERT_TRUE(until([&] { return reading->has_value(); }));
  EXPECT_EQ((*reading)->answer, GroupReading::Answer::kSeen);
  EXPECT_EQ((*reading)->probe, GroupReading::Probe::kCannot);
  EXPECT_EQ((*reading)->noProbe, "privd-binder does not answer");
  EXPECT_TRUE(events_.there);
  EXPECT_EQ(privd_->hangUps(), 0U);
}

// A slow disk: each answer has its own 10 s.
TEST_F(PrivdSilenceTest, AGateThatTakesItsTimeToTellOfExclusionsIsLetIn) {
  privd_.emplace(FakePrivd::Setup{.plugindSocket = dir_ / "plugind.sock",
                                  .kubeletDir = deviceDirectory(),
                                  .hardware = twoGroups().snapshot(),
                                  .exclusionsTake = 6'000});
  EXPECT_TRUE(until([this] { return events_.there; }));
  EXPECT_EQ(privd_->hangUps(), 0U);
}

}  // namespace
}  // namespace vfiogate::test
