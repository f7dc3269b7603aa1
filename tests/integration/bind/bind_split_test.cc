// Bindings beside plugind: what it has allocated, and what an operator takes out of offer.

#include "tests/integration/split_case.h"
#include "tests/support/until.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char* const kResource = "vfiogate.dev/gpu";
const char* const kConfig =
    "resources:\n  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}}\n";
const char* const kOne = "0000:01:00.0";
const char* const kOther = "0000:02:00.0";

class BindSplit : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = kOne, .group = 7});
    hardware.add({.address = kOther, .group = 8});
  }
  void start(const std::vector<std::string>& more = {}) {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPrivd(more)) << node_->said();
    ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kResource, {kOne, kOther}, {})) << node_->said();
  }
  /// A pod runs with one of the two: its address.
  std::string allocateOne() {
    const auto admission = node_->kubelet.admit(podOf("p1", kResource));
    EXPECT_TRUE(admission.admitted) << admission.message;
    return admission.granted.empty() ? "" : *admission.granted[0].ids.begin();
  }
  /// Its exit code; `said_` is what it says.
  int privd(std::vector<std::string> words) {
    words.insert(words.begin(), builtProgram("privd"));
    words.insert(words.end(),
                 {"--sysfs", node_->hardware.sysfs(), "--dev", node_->hardware.dev(), "--state-dir",
                  node_->directory("state"), "--audit-log", node_->directory("audit.jsonl")});
    ChildProcess command(words, filteredEnvironment());
    const int code = command.wait();
    said_ = command.outputWhole();
    return code;
  }

  int tried(std::vector<std::string> words) {
    words.insert(words.end(), {"--override", "unguarded", "--dry-run"});
    return privd(words);
  }

  std::string said_;
};

TEST_F(BindSplit, I1_WhatIsAllocatedIsNotUnboundWithoutAWord) {
  start();
  const std::string allocated = allocateOne();
  EXPECT_EQ(privd({"unbind", allocated}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("plugind has allocated its group"));
  EXPECT_EQ(tried({"unbind", allocated, "--override", "held"}), 0) << said_;
  // What it allocated outlives it.
  node_->killPlugind();
  EXPECT_EQ(privd({"unbind", allocated}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("plugind has allocated its group"));
}

TEST_F(BindSplit, I1_WhatIsAllocatedIsNotUnboundWithoutADaemonEither) {
  start();
  const std::string allocated = allocateOne();
  const std::string free = allocated == kOne ? kOther : kOne;
  node_->killPrivd();
  const auto refusesTheAllocatedOneOnly = [&]() {
    EXPECT_EQ(tried({"unbind", allocated}), 1) << said_;
    EXPECT_THAT(said_, AllOf(HasSubstr(allocated + ": held: plugind has allocated its group to "),
                             HasSubstr(" since 20"), HasSubstr("as vfiogate.dev/gpu"),
                             HasSubstr("--override held")));
    EXPECT_EQ(tried({"unbind", free}), 0) << said_;
  };
  refusesTheAllocatedOneOnly();
  node_->killPlugind();
  refusesTheAllocatedOneOnly();
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(kResource, {kOne, kOther}, {})) << node_->said();
  node_->killPlugind();
  EXPECT_EQ(privd({"unbind", allocated}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("plugind has allocated its group"));
}

// A record that says nothing, or nothing that makes sense: unknown, which refuses.
TEST_F(BindSplit, I1_WhatIsNotKnownToBeFreeIsNotUnbound) {
  start();
  const std::string allocated = allocateOne();
  const std::string free = allocated == kOne ? kOther : kOne;
  const std::string record = node_->directory("state/devices/");
  node_->killPrivd();
  const auto torn = std::filesystem::file_size(record + allocated) / 2;
  std::filesystem::resize_file(record + allocated, torn);
  EXPECT_EQ(tried({"unbind", allocated}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("the record of " + allocated + " makes no sense"));
  std::filesystem::remove(record + allocated);
  std::filesystem::create_symlink("/dev/null", record + allocated);
  EXPECT_EQ(tried({"unbind", allocated}), 1) << said_;
  // Whoever empties the record takes nothing from anybody, as long as plugind runs.
  std::filesystem::remove_all(record);
  for (const std::string& each : {allocated, free}) {
    EXPECT_EQ(tried({"unbind", each}), 1) << said_;
    EXPECT_THAT(said_, HasSubstr("what plugind has allocated is not known: it runs"));
  }
  node_->killPlugind();
  EXPECT_EQ(tried({"unbind", free}), 0) << said_;
}

// A daemon that has just started, with a record that does not say all, knows what plugind tells it.
TEST_F(BindSplit, I1_AfterADaemonsRestartNothingIsUnboundBeforePlugindHasTold) {
  start();
  const std::string allocated = allocateOne();
  const std::string free = allocated == kOne ? kOther : kOne;
  node_->killPrivd();
  std::filesystem::remove_all(node_->directory("state/devices/"));
  ASSERT_EQ(kill(node_->plugind->pid(), SIGSTOP), 0);
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  for (const std::string& each : {allocated, free}) {
    EXPECT_EQ(tried({"unbind", each}), 1) << said_;
    EXPECT_THAT(said_, HasSubstr("what plugind has allocated is not known: it runs"));
  }
  ASSERT_EQ(kill(node_->plugind->pid(), SIGCONT), 0);
  EXPECT_TRUE(until([&]() { return tried({"unbind", free}) == 0; })) << said_ << node_->said();
  EXPECT_EQ(tried({"unbind", allocated}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("plugind has allocated its group"));
}

// By the exclusions' own files: this privd binds nothing, and rescans next in an hour.
TEST_F(BindSplit, I4_WhatAnOperatorExcludesIsOutOfOfferAndWhatIsAllocatedStaysHealthy) {
  start({"--rescan", "3600"});
  const std::string allocated = allocateOne();
  const std::string free = allocated == kOne ? kOther : kOne;
  for (const char* address : {kOne, kOther}) {
    ASSERT_EQ(privd({"hold", address, "--reason", "firmware update"}), 0) << said_;
  }
  EXPECT_TRUE(node_->kubelet.shows(kResource, {allocated}, {free})) << node_->said();
  node_->killPrivd();
  ASSERT_TRUE(node_->startPrivd({"--rescan", "3600"})) << node_->said();
  ASSERT_EQ(privd({"release", free}), 0) << said_;
  EXPECT_TRUE(node_->kubelet.shows(kResource, {kOne, kOther}, {})) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
