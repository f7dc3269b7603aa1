// I8: every write of a plan made to fail in turn, and writes of its undo, too.

#include "tests/integration/bind/bind_case.h"

#include <functional>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class UndoAlone : public BindCase {
protected:
  /// The report names all that differs, and nothing else.
  void expectNamed(const TreeState& before, const nlohmann::json& report) const {
    const TreeState after = node_->state();
    std::vector<std::string> named;
    for (const auto& difference : report.at("differences")) named.push_back(difference);
    std::size_t differ = 0;
    for (const auto& [address, was] : before) {
      const std::string& now = after.at(address);
      const auto driver = [](const std::string& text) { return text.substr(0, text.find(' ')); };
      const auto override = [](const std::string& text) { return text.substr(text.find(' ')); };
      if (driver(was) != driver(now)) {
        ++differ;
        EXPECT_THAT(named, testing::Contains(HasSubstr(address + ": its driver was " + driver(was) +
                                                       " and is " + driver(now))));
      }
      if (override(was) != override(now)) {
        ++differ;
        EXPECT_THAT(named, testing::Contains(
                               testing::AllOf(HasSubstr(address), HasSubstr("driver_override"))));
      }
    }
    EXPECT_EQ(named.size(), differ) << report.dump(2);
    EXPECT_EQ(report.at("outcome"), differ == 0 ? "failed" : "left-changed");
  }

  void expectOutcomeRecorded(const std::string& outcome) const {
    const auto records = node_->audit();
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(records.back().at("kind"), "outcome");
    EXPECT_EQ(records.back().at("outcome"), outcome);
  }
};

class Undo : public EitherWay<UndoAlone> {
protected:
  /// Makes the first write fail, then the second and so on, until the change succeeds. How many
  /// failed.
  std::size_t failEachWriteOf(const std::function<Ended()>& change) {
    const TreeState before = node_->state();
    for (std::size_t nth = 1; nth < 20; ++nth) {
      SCOPED_TRACE(nth);
      EXPECT_EQ(node_->ctl("fail-nth " + std::to_string(nth) + " EIO"), "ok\n");
      const Ended ended = change();
      if (ended.code == 0) return nth - 1;
      EXPECT_EQ(ended.code, 1) << ended.text;
      const auto report = ended.json();
      if (!report.is_object()) break;
      EXPECT_EQ(report.at("outcome"), "failed");
      EXPECT_THAT(report.at("differences"), IsEmpty());
      EXPECT_THAT(std::string(report.at("error")), HasSubstr("Input/output error"));
      EXPECT_EQ(node_->state(), before);
      expectOutcomeRecorded("failed");
    }
    ADD_FAILURE() << "it never succeeds";
    return 0;
  }
};

TEST_P(Undo, I8_EachWriteOfABindFailingLeavesTheTreeAsItWas) {
  bringUp(kLaptop);
  EXPECT_EQ(failEachWriteOf([this]() { return bindGpu({"-o", "json"}); }), 6U);
  expectGoodLog();
}

TEST_P(Undo, I8_EachWriteOfAnUnbindFailingLeavesTheTreeAsItWas) {
  bringUp(kLaptop);
  const TreeState original = node_->state();
  ASSERT_EQ(bindGpu().code, 0);
  EXPECT_EQ(failEachWriteOf([this]() {
              return node_->change({"unbind", kGpu, "-o", "json"});
            }),
            6U);
  EXPECT_EQ(node_->state(), original) << "the record outlived the failures";
  expectGoodLog();
}

TEST_P(Undo, I8_ATwoFunctionGroupWithABridgeEndsAsItBegan) {
  bringUp("two-in-group.yaml");
  ASSERT_EQ(node_->ctl("bind 0000:03:02.0 pci-stub"), "ok\n");
  const TreeState before = node_->state();
  std::size_t failures = 0;
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    ASSERT_EQ(node_->ctl("fail-nth " + std::to_string(nth) + " EBUSY"), "ok\n");
    const Ended ended = node_->change({"bind", "0000:03:01.0", "0000:03:02.0", "-o", "json"});
    if (ended.code == 0) break;
    ++failures;
    EXPECT_EQ(ended.code, 1) << ended.text;
    EXPECT_EQ(node_->state(), before) << ended.text;
    ASSERT_LT(nth, 20) << ended.text;
  }
  EXPECT_EQ(failures, 6U);
}

TEST_F(UndoAlone, I8_WhatCannotBeTakenBackIsNamedExactly) {
  // The override that was there before has text of its own, so that just its return can fail.
  const std::vector<std::string> kObstacles{
      "fail bus/pci/drivers/amdgpu/bind EIO",
      "fail bus/pci/drivers/vfio-pci/unbind EIO",
      "fail bus/pci/drivers/snd_hda_intel/bind ENODEV",
      std::string("fail bus/pci/devices/") + kGpu + "/driver_override EIO amdgpu",
  };
  std::size_t differing = 0;
  for (const std::string& obstacle : kObstacles) {
    for (int nth = 2; nth <= 6; ++nth) {
      SCOPED_TRACE(obstacle + ", write " + std::to_string(nth));
      bring(kLaptop);
      ASSERT_EQ(node_->ctl(std::string("bind ") + kGpu + " amdgpu"), "ok\n");
      const TreeState before = node_->state();
      ASSERT_EQ(before.at(kGpu), "amdgpu amdgpu");
      ASSERT_EQ(node_->ctl(obstacle), "ok\n");
      ASSERT_EQ(node_->ctl("fail-nth " + std::to_string(nth) + " EIO"), "ok\n");
      const Ended ended = bindGpu({"-o", "json"});
      const auto report = ended.json();
      ASSERT_TRUE(report.is_object()) << ended.text;
      expectNamed(before, report);
      EXPECT_EQ(ended.code, node_->state() == before ? 1 : 3) << ended.text;
      if (node_->state() != before) ++differing;
      expectOutcomeRecorded(report.at("outcome"));
      node_.reset();
    }
  }
  EXPECT_GT(differing, 8U);
}

TEST_P(Undo, I8_AKernelThatSaysYesAndDoesNothingIsNoticedAndUndone) {
  bringUp(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl(std::string("silent ") + kAudio), "ok\n");
  const Ended ended = bindGpu({"-o", "json"});
  EXPECT_EQ(ended.code, 3) << ended.text;
  const auto report = ended.json();
  ASSERT_TRUE(report.is_object()) << ended.text;
  EXPECT_THAT(std::string(report.at("error")), HasSubstr("the kernel reported success"));
  // Its own driver's bind is silent, too: it is left without one, and the report says so.
  expectNamed(before, report);
}

INSTANTIATE_TEST_SUITE_P(Ways, Undo, testing::Bool(), wayName);

}  // namespace
}  // namespace vfiogate::test
