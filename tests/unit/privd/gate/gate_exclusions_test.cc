// Which devices operators exclude, as the gate tells plugind.

#include "tests/unit/privd/gate/served_gate.h"

#include <cerrno>
#include <set>

namespace vfiogate::test {
namespace {

using gate::Code;
using testing::HasSubstr;

class GateExclusionsTest : public ServedGate {
protected:
  ~GateExclusionsTest() noexcept override = default;

  Answered ask(const std::string& after = "") {
    return ServedGate::ask(plugind_, gate::List{gate::List::What::kExclusions, after});
  }
  gate::Exclusions listed(const std::string& after = "") {
    return std::get<gate::Exclusions>(ask(after).answer.outcome);
  }
  bool hears(const std::function<bool(std::uint64_t)>& like) {
    return ServedGate::hears(
        plugind_, [&like](const gate::WatchedFiles& files) { return like(files.exclusions); });
  }
  void exclude(const std::string& name) { write("holds/" + name, "reason=test\n"); }
  void include(const std::string& name) { std::filesystem::remove(dir_ / ("holds/" + name)); }
  static Bdf at(const char* address) { return *Bdf::parse(address); }

  PlayedPlugind plugind_ = entered();
};

TEST_F(GateExclusionsTest, AreTheNamesOfFilesInOrder) {
  EXPECT_EQ(listed(), gate::Exclusions());
  exclude("0000:3b:00.0");
  exclude("0000:02:00.1");
  // What makes no sense still counts, and what is named like no device does not.
  write("holds/0000:02:00.0", "\x01");
  exclude(".0000:05:00.0");
  exclude("0000:05:00");
  exclude("05:00.0");
  const std::vector<UnitId> expected{at("0000:02:00.0"), at("0000:02:00.1"), at("0000:3b:00.0")};
  EXPECT_EQ(listed().devices, expected);
}

TEST_F(GateExclusionsTest, ComeInPartsOfWhichEachBeginsAfterTheLast) {
  std::vector<UnitId> all;
  for (std::uint32_t i = 0; i < gate::kMostExclusions + 3; ++i) {
    all.push_back(*Bdf::make(i, 0, 0, 0));
    exclude(all.back().str());
  }
  const auto first = listed();
  EXPECT_TRUE(first.more);
  const auto second = listed(first.devices.back().str());
  EXPECT_FALSE(second.more);
  EXPECT_EQ(second.devices.size(), 3U);
  auto both = first.devices;
  both.insert(both.end(), second.devices.begin(), second.devices.end());
  EXPECT_EQ(both, all);
}

TEST_F(GateExclusionsTest, PlugindHearsOfEachChange) {
  std::set<std::uint64_t> numbers{0};
  ASSERT_TRUE(hears([](std::uint64_t number) { return number == 0; }));
  testing::internal::CaptureStderr();
  for (const char* name : {"0000:02:00.0", "0000:3b:00.0"}) {
    exclude(name);
    ASSERT_TRUE(hears([&](std::uint64_t number) { return !numbers.contains(number); })) << name;
    numbers.insert(plugind_.told.back().exclusions);
  }
  include("0000:02:00.0");
  ASSERT_TRUE(hears([&](std::uint64_t number) { return !numbers.contains(number); }));
  include("0000:3b:00.0");
  ASSERT_TRUE(hears([](std::uint64_t number) { return number == 0; }));
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* count : {"devices=0", "devices=1", "devices=2"}) {
    EXPECT_THAT(log, HasSubstr(std::string("event=exclusions ") + count));
  }
}

TEST_F(GateExclusionsTest, OnesReasonIsNoNews) {
  exclude("0000:02:00.0");
  ASSERT_TRUE(hears([](std::uint64_t number) { return number != 0; }));
  const auto told = plugind_.told.size();
  exclude("0000:02:00.0");
  exclude("unrelated");
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(loop_->turn(std::chrono::milliseconds(5)));
  takeTold(plugind_);
  EXPECT_EQ(plugind_.told.size(), told);
}

TEST_F(GateExclusionsTest, TheSameOnesAreTheSameNumberToTheNextGate) {
  exclude("0000:02:00.0");
  ASSERT_TRUE(hears([](std::uint64_t number) { return number != 0; }));
  const auto before = plugind_.told.back().exclusions;
  start();
  plugind_.lock = nullptr;
  plugind_ = entered();
  ASSERT_TRUE(hears([&](std::uint64_t number) { return number == before; }));
}

// Nobody may take it for a node without exclusions.
TEST_F(GateExclusionsTest, ThatCannotBeListedAreAnError) {
  std::filesystem::remove(dir_ / "holds");
  const auto answered = ask();
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, ENOENT);
  ASSERT_TRUE(hears([](std::uint64_t number) { return number == ENOENT; }));
}

TEST_F(GateExclusionsTest, AreToldWhateverTheRights) {
  exclude("0000:02:00.0");
  start({});
  plugind_.lock = nullptr;
  plugind_ = entered();
  EXPECT_EQ(listed().devices.size(), 1U);
  EXPECT_TRUE(hears([](std::uint64_t number) { return number != 0; }));
}

}  // namespace
}  // namespace vfiogate::test
