// The life of a registration, as a table: what happens, and how it then stands.

#include "plugind/core/status/registration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;

struct Act {
  std::string what;  ///< an event, or "12s": time goes by, with everything that is due on the way
  std::string then;  ///< the state; "!" in front: an attempt began
};

struct Life {
  const char* name;
  std::vector<Act> acts;
};

/// The turn of this name in which an attempt can end.
std::optional<RegistrationTurn> endNamed(const std::string& name) {
  for (const auto turn : {RegistrationTurn::kTaken, RegistrationTurn::kRefused,
                          RegistrationTurn::kUnreachable, RegistrationTurn::kNoSocket}) {
    if (name == nameOf(turn)) return turn;
  }
  return std::nullopt;
}

/// A clock, a kubelet's doings, and at most one attempt.
class Played {
public:
  std::string act(const std::string& what) {
    began_ = false;
    if (what == "wanted") {
      note(registration_.wanted());
    } else if (what == "new-kubelet") {
      note(registration_.kubeletCame());
    } else if (what == "privd-back") {
      note(registration_.socketsCame());
    } else if (const auto how = endNamed(what)) {
      note(registration_.attemptEnded(*how, now_, 0));
    } else if (what == "opened") {
      note(registration_.streamOpened());
    } else if (what == "ended") {
      note(registration_.streamEnded(now_, 0));
    } else {
      pass(milliseconds(std::stol(what)));
    }
    return (began_ ? "!" : "") + std::string(nameOf(registration_.state()));
  }

  const Registration& registration() const { return registration_; }
  int turns(RegistrationTurn turn) const {
    return static_cast<int>(std::count(turns_.begin(), turns_.end(), turn));
  }

private:
  void note(const Registration::Step& step) {
    began_ = began_ || step.attempt;
    if (step.turn) turns_.push_back(*step.turn);
  }
  void pass(milliseconds time) {
    const Instant until = now_ + time;
    while (registration_.due() && *registration_.due() <= until) {
      now_ = std::max(now_, *registration_.due());
      note(registration_.tick(now_, 0));
    }
    now_ = until;
  }

  Registration registration_{{milliseconds(200), milliseconds(30'000)},
                             {milliseconds(4), milliseconds(30'000)}};
  Instant now_{std::chrono::hours(1)};
  bool began_ = false;
  std::vector<RegistrationTurn> turns_;
};

class RegistrationLife : public testing::TestWithParam<Life> {};

TEST_P(RegistrationLife, GoesAsTheTableSays) {
  Played played;
  for (std::size_t i = 0; i < GetParam().acts.size(); ++i) {
    const Act& act = GetParam().acts[i];
    ASSERT_EQ(played.act(act.what), act.then) << "act " << i << ": " << act.what;
  }
}

// Times are in milliseconds; without a draw a pause is half of 200, 400, 800 ...
const Life kLives[] = {
    {"NothingBeforeItIsWanted",
     {{"new-kubelet", "unwanted"}, {"privd-back", "unwanted"}, {"ended", "unwanted"}}},
    {"Registers",
     {{"wanted", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"60000", "standing"}}},
    {"TheStreamMayComeBeforeTheAnswer",
     {{"wanted", "!attempting"},
      {"opened", "attempting"},
      {"taken", "standing"},
      {"60000", "standing"}}},
    {"ARefusalIsTriedAgainWithLongerPauses",
     {{"wanted", "!attempting"},
      {"refused", "pausing"},
      {"99", "pausing"},
      {"1", "!attempting"},
      {"refused", "pausing"},
      {"199", "pausing"},
      {"1", "!attempting"},
      {"refused", "pausing"},
      {"399", "pausing"},
      {"1", "!attempting"}}},
    {"AKubeletThatIsNotThereYetIsKnockedFor",
     {{"wanted", "!attempting"},
      {"unreachable", "pausing"},
      {"1", "pausing"},
      {"1", "!attempting"},
      {"unreachable", "pausing"},
      {"4", "!attempting"},
      {"refused", "pausing"},
      {"99", "pausing"},
      {"1", "!attempting"},
      {"unreachable", "pausing"},
      {"7", "pausing"},
      {"1", "!attempting"},
      {"unreachable", "pausing"},
      {"new-kubelet", "!attempting"},
      {"unreachable", "pausing"},
      {"2", "!attempting"}}},
    {"WithoutASocketItIsTriedAgainWithLongerPauses",
     {{"wanted", "!attempting"},
      {"no-socket", "pausing"},
      {"99", "pausing"},
      {"1", "!attempting"},
      {"no-socket", "pausing"},
      {"199", "pausing"},
      {"privd-back", "!attempting"},
      {"no-socket", "pausing"},
      {"100", "!attempting"}}},
    {"T3WithoutAStreamItIsNoRegistration",
     {{"wanted", "!attempting"},
      {"taken", "awaiting-stream"},
      {"4999", "awaiting-stream"},
      {"1", "pausing"},
      {"100", "!attempting"}}},
    {"AStreamThatEndedBeforeTheAnswerIsFollowedByARegistration",
     {{"wanted", "!attempting"},
      {"opened", "attempting"},
      {"ended", "attempting"},
      {"taken", "awaiting-stream"},
      {"0", "pausing"},
      {"100", "!attempting"}}},
    {"T3AnEarlierStreamThatEndsDoesNotCount",
     {{"wanted", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"new-kubelet", "!attempting"},
      {"ended", "attempting"},
      {"taken", "awaiting-stream"},
      {"4999", "awaiting-stream"},
      {"1", "pausing"}}},
    {"AnEndOfTheStreamIsFollowedByARegistration",
     {{"wanted", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"ended", "pausing"},
      {"100", "!attempting"},
      {"taken", "awaiting-stream"}}},
    {"OneThatStoodForLongBeginsItsPausesAnew",
     {{"wanted", "!attempting"},
      {"refused", "pausing"},
      {"100", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"10000", "standing"},
      {"ended", "pausing"},
      {"99", "pausing"},
      {"1", "!attempting"}}},
    {"OneThatStoodShortlyDoesNot",
     {{"wanted", "!attempting"},
      {"refused", "pausing"},
      {"100", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"9999", "standing"},
      {"ended", "pausing"},
      {"199", "pausing"},
      {"1", "!attempting"}}},
    {"ANewKubeletVoidsEverything",
     {{"wanted", "!attempting"},
      {"new-kubelet", "!attempting"},
      {"refused", "pausing"},
      {"new-kubelet", "!attempting"},
      {"taken", "awaiting-stream"},
      {"new-kubelet", "!attempting"},
      {"taken", "awaiting-stream"},
      {"opened", "standing"},
      {"new-kubelet", "!attempting"}}},
    {"PrivdsReturnEndsAPauseOnly",
     {{"wanted", "!attempting"},
      {"privd-back", "attempting"},
      {"refused", "pausing"},
      {"privd-back", "!attempting"},
      {"taken", "awaiting-stream"},
      {"privd-back", "awaiting-stream"},
      {"opened", "standing"},
      {"privd-back", "standing"}}},
    {"ASecondWishChangesNothing", {{"wanted", "!attempting"}, {"wanted", "attempting"}}},
};

INSTANTIATE_TEST_SUITE_P(Table, RegistrationLife, testing::ValuesIn(kLives),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Registration, TellsEachTurnOnce) {
  Played played;
  for (const char* what : {"wanted", "refused", "100", "taken", "opened", "ended", "200",
                           "new-kubelet", "taken", "5000"}) {
    played.act(what);
  }
  EXPECT_EQ(played.turns(RegistrationTurn::kRefused), 1);
  EXPECT_EQ(played.turns(RegistrationTurn::kTaken), 2);
  EXPECT_EQ(played.turns(RegistrationTurn::kStreamEnded), 1);
  EXPECT_EQ(played.turns(RegistrationTurn::kNewKubelet), 1);
  EXPECT_EQ(played.turns(RegistrationTurn::kNoStream), 1);
}

TEST(Registration, AStreamThatEndedBeforeTheAnswerIsNotOneThatNeverCame) {
  Played played;
  for (const char* what : {"wanted", "opened", "ended", "taken", "0"}) played.act(what);
  EXPECT_EQ(played.turns(RegistrationTurn::kTaken), 1);
  EXPECT_EQ(played.turns(RegistrationTurn::kStreamEnded), 1);
  EXPECT_EQ(played.turns(RegistrationTurn::kNoStream), 0);
}

TEST(Registration, EachTurnThatIsATroubleHasASide) {
  EXPECT_EQ(sideOf(RegistrationTurn::kTaken), "");
  EXPECT_EQ(sideOf(RegistrationTurn::kNoSocket), "vfiogate");
  for (const auto turn : {RegistrationTurn::kRefused, RegistrationTurn::kUnreachable,
                          RegistrationTurn::kNoStream, RegistrationTurn::kStreamEnded}) {
    EXPECT_EQ(sideOf(turn), "kubelet") << nameOf(turn);
  }
}

// Never two attempts to one kubelet, and never stuck, whatever comes in whatever order.
TEST(Registration, NeverTwoAttemptsAtOnceAndNeverStuck) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const std::vector<std::string> acts{"new-kubelet", "privd-back", "taken",  "refused",
                                      "unreachable", "no-socket",  "opened", "ended",
                                      "50",          "6000"};
  Played played;
  played.act("wanted");
  for (int step = 0; step < 20'000; ++step) {
    const bool attempting = played.registration().state() == RegistrationState::kAttempting;
    const std::string& what =
        acts[std::uniform_int_distribution<std::size_t>(0, acts.size() - 1)(random)];
    const bool began = played.act(what).starts_with('!');
    ASSERT_FALSE(began && attempting && what != "new-kubelet") << what << ", seed " << seed;
    const RegistrationState state = played.registration().state();
    const bool waits =
        state == RegistrationState::kPausing || state == RegistrationState::kAwaitingStream;
    ASSERT_EQ(played.registration().due().has_value(), waits) << what << ", seed " << seed;
  }
}

}  // namespace
}  // namespace vfiogate
