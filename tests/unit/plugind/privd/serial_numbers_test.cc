#include "plugind/core/resource/serial_numbers.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/hardware.h"

namespace vfiogate {
namespace {

using test::at;
using test::Hardware;
using Found = SerialAnswer::Found;
using std::chrono::seconds;

const Bdf kFirst = at("0000:01:00.0");
const Bdf kSecond = at("0000:02:00.0");
const Bdf kThird = at("0000:03:00.0");

class SerialNumbersTest : public testing::Test {
protected:
  SerialNumbersTest() {
    hardware_.add("0000:01:00.0", 1);
    hardware_.add("0000:02:00.0", 2);
    hardware_.add("0000:03:00.0", 3);
    serials_.seen(hardware_.snapshot());
    serials_.want({kFirst, kSecond, kThird});
  }

  /// Whom it asks now.
  std::string asked() {
    std::string all;
    for (const auto& question : serials_.next(now_)) {
      questions_.insert_or_assign(question.device, question);
      all += (all.empty() ? "" : " ") + question.device.str().substr(5, 2);
    }
    return all;
  }
  bool told(const Bdf& device, SerialAnswer answer) {
    return serials_.told(questions_.at(device), std::move(answer), now_);
  }
  std::string of(const Bdf& device) const {
    const auto serial = serials_.of(device);
    return serial ? std::string(*serial) : "? " + std::string(serials_.whyUnknown(device));
  }

  Hardware hardware_;
  SerialNumbers serials_;
  std::map<Bdf, SerialNumbers::Question> questions_;
  Instant now_;
};

TEST_F(SerialNumbersTest, TwoAreAskedAtATimeEachOnce) {
  EXPECT_EQ(of(kFirst), "? the card is being asked");
  EXPECT_EQ(asked(), "01 02");
  EXPECT_EQ(asked(), "");
  EXPECT_FALSE(serials_.nextDeadline()) << "an answer is awaited";
  EXPECT_TRUE(told(kSecond, {Found::kSerial, "MT2"}));
  EXPECT_EQ(asked(), "03");
  EXPECT_TRUE(told(kFirst, {Found::kNone, ""}));
  EXPECT_TRUE(told(kThird, {Found::kSerial, "MT3"}));
  EXPECT_EQ(asked(), "");
  EXPECT_EQ(of(kFirst), "");
  EXPECT_EQ(of(kSecond), "MT2");
  EXPECT_EQ(serials_.known(), (std::map<Bdf, std::string>{{kSecond, "MT2"}, {kThird, "MT3"}}));
  EXPECT_FALSE(serials_.nextDeadline());
}

TEST_F(SerialNumbersTest, OnlyThoseThatAreWantedAreAsked) {
  serials_.want({kThird, at("0000:77:00.0")});
  EXPECT_EQ(asked(), "03");
}

TEST_F(SerialNumbersTest, I1_OneThatLeftIsAskedAnewWhenItIsBack) {
  serials_.want({kFirst});
  asked();
  told(kFirst, {Found::kSerial, "MT1"});
  hardware_.remove("0000:01:00.0");
  serials_.seen(hardware_.snapshot());
  EXPECT_EQ(asked(), "");
  EXPECT_TRUE(serials_.known().empty());
  hardware_.add("0000:01:00.0", 1);
  serials_.seen(hardware_.snapshot());
  EXPECT_FALSE(serials_.of(kFirst));
  EXPECT_EQ(asked(), "01");
}

TEST_F(SerialNumbersTest, I1_OneThatIsAnotherIsAskedAnew) {
  serials_.want({kFirst});
  asked();
  told(kFirst, {Found::kSerial, "MT1"});
  hardware_.device("0000:01:00.0").driver = "nvidia";
  serials_.seen(hardware_.snapshot());
  EXPECT_EQ(of(kFirst), "MT1") << "another driver is no other card";
  hardware_.device("0000:01:00.0").revision = std::uint8_t{0xa2};
  serials_.seen(hardware_.snapshot());
  EXPECT_EQ(asked(), "01");
}

TEST_F(SerialNumbersTest, I1_WhatWasAskedOfAnEarlierCardSaysNothing) {
  serials_.want({kFirst});
  asked();
  const auto earlier = questions_.at(kFirst);
  hardware_.remove("0000:01:00.0");
  serials_.seen(hardware_.snapshot());
  hardware_.add("0000:01:00.0", 1);
  serials_.seen(hardware_.snapshot());
  EXPECT_EQ(asked(), "01");
  EXPECT_FALSE(serials_.told(earlier, {Found::kSerial, "MT1"}, now_));
  EXPECT_FALSE(serials_.of(kFirst));
  EXPECT_TRUE(told(kFirst, {Found::kSerial, "MT2"}));
  EXPECT_EQ(of(kFirst), "MT2");
}

TEST_F(SerialNumbersTest, I1_NothingIsKnownOfWhatNobodyHasSeenMeanwhile) {
  serials_.want({kFirst, kSecond});
  asked();
  told(kFirst, {Found::kSerial, "MT1"});
  const auto earlier = questions_.at(kSecond);
  serials_.forget();
  EXPECT_EQ(asked(), "") << "nobody sees it";
  serials_.seen(hardware_.snapshot());
  serials_.want({kFirst, kSecond});
  EXPECT_FALSE(serials_.told(earlier, {Found::kSerial, "MT2"}, now_));
  EXPECT_EQ(asked(), "01 02");
}

TEST_F(SerialNumbersTest, AFailedReadIsTriedAgainLaterAndLater) {
  serials_.want({kFirst});
  asked();
  EXPECT_TRUE(told(kFirst, {Found::kFailed, "it does not answer"}));
  EXPECT_EQ(of(kFirst), "? it does not answer");
  EXPECT_EQ(serials_.nextDeadline(), now_ + seconds(5));
  now_ += seconds(5) - std::chrono::nanoseconds(1);
  EXPECT_EQ(asked(), "");
  now_ += std::chrono::nanoseconds(1);
  EXPECT_EQ(asked(), "01");
  EXPECT_EQ(of(kFirst), "? it does not answer") << "still";
  EXPECT_FALSE(told(kFirst, {Found::kFailed, "it does not answer"})) << "no news";
  EXPECT_EQ(serials_.nextDeadline(), now_ + seconds(10));
  for (int i = 0; i < 20; ++i) {
    now_ = *serials_.nextDeadline();
    EXPECT_EQ(asked(), "01");
    told(kFirst, {Found::kFailed, "it does not answer"});
  }
  EXPECT_EQ(serials_.nextDeadline(), now_ + seconds(600));
  now_ += seconds(600);
  EXPECT_EQ(asked(), "01");
  EXPECT_TRUE(told(kFirst, {Found::kSerial, "MT1"}));
  EXPECT_EQ(of(kFirst), "MT1");
}

TEST_F(SerialNumbersTest, WhereNobodyReadsItIsAskedWhenSomebodyCame) {
  serials_.want({kFirst});
  asked();
  EXPECT_TRUE(told(kFirst, {Found::kNobody, "no privd-binder is here"}));
  EXPECT_EQ(of(kFirst), "? no privd-binder is here");
  EXPECT_FALSE(serials_.nextDeadline());
  now_ += seconds(10'000);
  EXPECT_EQ(asked(), "");
  serials_.readerCame();
  EXPECT_EQ(asked(), "01");
  serials_.readerCame();
  EXPECT_EQ(asked(), "") << "it is on its way";
}

TEST_F(SerialNumbersTest, AnotherReaderEndsThePause) {
  serials_.want({kFirst});
  asked();
  told(kFirst, {Found::kFailed, "it does not answer"});
  serials_.readerCame();
  ASSERT_TRUE(serials_.nextDeadline());
  EXPECT_LE(*serials_.nextDeadline(), now_);
  EXPECT_EQ(asked(), "01");
}

// Whatever happens in whatever order: what is known of a card was told by the card that is there.
TEST_F(SerialNumbersTest, I1_WhatIsKnownIsOfTheCardThatIsThere) {
  std::mt19937 random(4711);
  const auto below = [&random](unsigned limit) { return random() % limit; };
  std::map<Bdf, unsigned> cards{{kFirst, 1}, {kSecond, 2}, {kThird, 3}};
  struct Open {
    SerialNumbers::Question question;
    std::string serial;
  };
  std::vector<Open> open;
  unsigned next = 3;
  unsigned known = 0;
  for (int step = 0; step < 20'000; ++step) {
    const Bdf card = std::vector{kFirst, kSecond, kThird}[below(3)];
    switch (below(6)) {
      case 0:  // it is taken out, and perhaps another is put in
        hardware_.remove(card.str());
        serials_.seen(hardware_.snapshot());
        cards.erase(card);
        break;
      case 1:
        if (cards.contains(card)) break;
        hardware_.add(card.str(), 1 + card.bus());
        serials_.seen(hardware_.snapshot());
        cards[card] = ++next;
        break;
      case 2:
        if (below(20) != 0) break;
        serials_.forget();
        for (auto& [address, number] : cards) number = ++next;
        serials_.seen(hardware_.snapshot());
        serials_.want({kFirst, kSecond, kThird});
        break;
      case 3:
        for (const auto& question : serials_.next(now_)) {
          ASSERT_TRUE(cards.contains(question.device));
          open.push_back({question, std::to_string(cards.at(question.device))});
        }
        break;
      case 4:
        if (open.empty()) break;
        std::swap(open[below(static_cast<unsigned>(open.size()))], open.back());
        serials_.told(open.back().question,
                      below(3) == 0 ? SerialAnswer{Found::kFailed, "why"}
                                    : SerialAnswer{Found::kSerial, open.back().serial},
                      now_);
        open.pop_back();
        break;
      default:
        now_ += seconds(below(60));
    }
    for (const auto& [address, serial] : serials_.known()) {
      ASSERT_TRUE(cards.contains(address)) << step;
      ASSERT_EQ(serial, std::to_string(cards.at(address))) << step;
      ++known;
    }
  }
  EXPECT_GT(known, 1'000U);
}

}  // namespace
}  // namespace vfiogate
