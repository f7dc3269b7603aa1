// When the DRA driver's sockets are made.

#include "plugind/core/dra/dra_registration.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using State = DraRegistrationState;
using std::chrono::milliseconds;

constexpr Instant kBegin{};

class DraRegistrationTest : public testing::Test {
protected:
  void makeFindable() {
    ASSERT_TRUE(registration_.wanted());
    registration_.attemptEnded(true, kBegin, 0);
  }
  DraRegistration registration_{{milliseconds(200), milliseconds(800)}};
};

TEST_F(DraRegistrationTest, BeginsOnceWhenWanted) {
  EXPECT_FALSE(registration_.tick(kBegin));
  EXPECT_TRUE(registration_.wanted());
  EXPECT_FALSE(registration_.wanted());
  EXPECT_EQ(registration_.state(), State::kAttempting);
}

TEST_F(DraRegistrationTest, PausesGrowAndASuccessBeginsThemAnew) {
  ASSERT_TRUE(registration_.wanted());
  Instant now = kBegin;
  for (const int pause : {100, 200, 400, 400}) {
    registration_.attemptEnded(false, now, 0);
    EXPECT_EQ(registration_.state(), State::kPausing);
    ASSERT_EQ(registration_.due(), now + milliseconds(pause));
    EXPECT_FALSE(registration_.tick(now + milliseconds(pause - 1)));
    now += milliseconds(pause);
    ASSERT_TRUE(registration_.tick(now));
    EXPECT_FALSE(registration_.due().has_value());
  }
  registration_.attemptEnded(true, now, 0);
  ASSERT_TRUE(registration_.socketsCame());
  registration_.attemptEnded(false, now, 0);
  EXPECT_EQ(registration_.due(), now + milliseconds(100));
}

TEST_F(DraRegistrationTest, TheKubeletsLastWordCounts) {
  makeFindable();
  EXPECT_EQ(registration_.state(), State::kFindable);
  EXPECT_TRUE(registration_.told(false));
  EXPECT_EQ(registration_.state(), State::kRefused);
  EXPECT_TRUE(registration_.told(true));
  EXPECT_EQ(registration_.state(), State::kRegistered);
  EXPECT_FALSE(registration_.due().has_value());
}

TEST_F(DraRegistrationTest, AWordThatOvertakesTheAttemptIsKept) {
  ASSERT_TRUE(registration_.wanted());
  EXPECT_TRUE(registration_.told(true));
  EXPECT_EQ(registration_.state(), State::kAttempting);
  registration_.attemptEnded(true, kBegin, 0);
  EXPECT_EQ(registration_.state(), State::kRegistered);
  ASSERT_TRUE(registration_.socketsCame());
  registration_.attemptEnded(true, kBegin, 0);
  EXPECT_EQ(registration_.state(), State::kFindable) << "it was about the sockets before";
}

TEST_F(DraRegistrationTest, PrivdsReturnEndsAPauseAndAnAttempt) {
  EXPECT_FALSE(registration_.socketsCame()) << "nobody wants it";
  ASSERT_TRUE(registration_.wanted());
  EXPECT_TRUE(registration_.socketsCame());
  registration_.attemptEnded(false, kBegin, 0);
  EXPECT_TRUE(registration_.socketsCame());
  EXPECT_FALSE(registration_.due().has_value());
}

}  // namespace
}  // namespace vfiogate
