// I7: what reaches sysfs is what the audit log says, and the log says it first.

#include "tests/integration/bind/bind_case.h"
#include "tests/support/small_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Audit : public EitherWay<BindCase> {};

class AuditAlone : public BindCase {
protected:
  /// Kills a command while the third write of its bind hangs: the card has left its driver, and not
  /// got to VFIO. Keep it until the write is over: the write has its output open.
  std::unique_ptr<ChildProcess> killBetweenDrivers() {
    EXPECT_TRUE(node_->serve()) << node_->daemon().output();
    EXPECT_EQ(node_->ctl("hang-nth 3"), "ok\n");
    auto change = node_->begin(words({"bind", kGpu}, kLiftGpu));
    EXPECT_EQ(node_->ctl("await-waiting 1"), "ok\n");
    change->signal(SIGKILL);
    change->wait();
    return change;
  }
  /// Ctrl-C and a terminal that goes, while a write of `change` hangs; then the write comes back.
  void interrupt(ChildProcess& change) {
    ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
    change.signal(SIGINT);
    change.signal(SIGHUP);
    ASSERT_EQ(node_->ctl("unhang"), "ok\n");
    change.wait();
  }
  /// The kernel comes back from the write that hangs.
  void endTheWrite() {
    ASSERT_EQ(node_->ctl("unhang"), "ok\n");
    ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  }
};

TEST_P(Audit, I7_EveryWriteIsAnIntendedOneInOrder) {
  bringUp(kLaptop);
  ASSERT_EQ(bindGpu().code, 0);
  ASSERT_EQ(node_->change({"bind", kWifi}).code, 0);
  ASSERT_EQ(node_->change({"unbind", kGpu}).code, 0);
  ASSERT_EQ(node_->change({"unbind", kWifi}).code, 0);
  const auto writes = node_->writes();
  EXPECT_EQ(writes.size(), 18U);
  EXPECT_EQ(node_->intended(), writes);
  std::uint64_t intent = 0;
  std::size_t outcomes = 0;
  for (const auto& record : node_->audit()) {
    if (record.at("kind") == "intent") intent = record.at("seq");
    if (record.at("kind") != "outcome") continue;
    EXPECT_EQ(record.at("intent"), intent);
    EXPECT_EQ(record.at("outcome"), "done");
    ++outcomes;
  }
  EXPECT_EQ(outcomes, 4U);
  expectGoodLog();
}

TEST_P(Audit, I7_WhatTakesAFailedChangeBackIsIntendedToo) {
  bringUp(kLaptop);
  ASSERT_EQ(node_->ctl("fail-nth 6 EIO"), "ok\n");
  ASSERT_EQ(bindGpu().code, 1);
  const auto records = node_->audit();
  ASSERT_EQ(records.size(), 2U);
  std::vector<SeenWrite> announced = node_->intended();
  const auto undo = writesIn(records[0].at("undo"));
  ASSERT_EQ(undo.size(), 6U);
  // The last step failed: it is not taken back.
  announced.insert(announced.end(), undo.begin() + 1, undo.end());
  EXPECT_EQ(node_->writes(), announced);
}

TEST_P(Audit, I7_TheIntentIsThereBeforeTheFirstWrite) {
  bringUp(kLaptop);
  ASSERT_EQ(node_->ctl("hang-nth 1"), "ok\n");
  auto change = node_->begin({"bind", kWifi});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  const auto records = node_->audit();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].at("kind"), "intent");
  EXPECT_EQ(records[0].at("operation"), "bind");
  EXPECT_EQ(records[0].at("group"), 13);
  EXPECT_EQ(node_->writes().size(), 1U);
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_EQ(change->wait(), 0) << change->outputWhole();
}

TEST_F(AuditAlone, I7_OverridesAreInTheLog) {
  bring(kLaptop);
  ASSERT_EQ(bindGpu().code, 0);
  const auto overridden = node_->audit().at(0).at("overridden");
  std::vector<std::string> guards;
  for (const auto& one : overridden) guards.push_back(one.at("guard"));
  EXPECT_THAT(guards, testing::ElementsAre("boot-vga", "console", "users", "users"));
}

TEST_F(AuditAlone, ACommandKilledInAChangeLeavesAGoodLogAndTheNextOneRepairs) {
  bring(kLaptop);
  const TreeState before = node_->state();
  const auto killed = killBetweenDrivers();
  expectGoodLog();
  const Ended other = node_->change({"unbind", kGpu});
  EXPECT_EQ(other.code, 1) << other.text;
  EXPECT_THAT(other.text, HasSubstr("a write of one has not come back"));
  ASSERT_NO_FATAL_FAILURE(endTheWrite());
  const Ended repaired = node_->change({"unbind", kGpu});
  EXPECT_EQ(repaired.code, 0) << repaired.text;
  EXPECT_EQ(node_->state(), before);
  expectGoodLog();
}

TEST_F(AuditAlone, ACommandKilledBetweenDriversIsRepairedByAnUnbind) {
  bring(kLaptop);
  const TreeState before = node_->state();
  const auto killed = killBetweenDrivers();
  // The kernel lets go of the write with nothing done.
  ASSERT_EQ(node_->ctl(std::string("fail ") + kGpu + " bind EIO 1"), "ok\n");
  ASSERT_NO_FATAL_FAILURE(endTheWrite());
  const Ended repaired = node_->change({"unbind", kGpu});
  EXPECT_EQ(repaired.code, 0) << repaired.text;
  EXPECT_EQ(node_->state(), before);
}

TEST_F(AuditAlone, WhatAKilledCommandLeftBetweenDriversIsBoundAndStillGivenBack) {
  bring(kLaptop);
  const TreeState before = node_->state();
  const auto killed = killBetweenDrivers();
  ASSERT_EQ(node_->ctl(std::string("fail ") + kGpu + " bind EIO 1"), "ok\n");
  ASSERT_NO_FATAL_FAILURE(endTheWrite());
  ASSERT_EQ(bindGpu().code, 0);
  EXPECT_EQ(node_->change({"unbind", kGpu}).code, 0);
  EXPECT_EQ(node_->state(), before);
}

TEST_F(AuditAlone, ADaemonKilledInADeclaredBindIsRepairedByACommand) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl("hang-nth 3"), "ok\n");
  node_->launch({"--allow", "8086:2723", "--declare", std::string(kWifi) + "=8086:2723"});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  node_->kill();
  expectGoodLog();
  ASSERT_NO_FATAL_FAILURE(endTheWrite());
  const Ended repaired = node_->change({"unbind", kWifi});
  EXPECT_EQ(repaired.code, 0) << repaired.text;
  EXPECT_EQ(node_->state(), before);
  expectGoodLog();
}

TEST_F(AuditAlone, ACtrlCEndsACommandAfterItsChange) {
  bring(kLaptop);
  ASSERT_EQ(node_->ctl("hang-nth 2"), "ok\n");
  auto change = node_->begin({"bind", kWifi});
  ASSERT_NO_FATAL_FAILURE(interrupt(*change));
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci") << change->outputWhole();
  EXPECT_EQ(node_->audit().back().at("outcome"), "done");
}

TEST_F(AuditAlone, ACtrlCInAnUndoEndsTheCommandAfterIt) {
  bring(kLaptop);
  const TreeState before = node_->state();
  ASSERT_EQ(node_->ctl("fail-nth 3 EIO"), "ok\n");
  ASSERT_EQ(node_->ctl("hang bus/pci/drivers/iwlwifi/bind"), "ok\n");
  auto change = node_->begin({"bind", kWifi});
  ASSERT_NO_FATAL_FAILURE(interrupt(*change));
  EXPECT_EQ(node_->audit().back().at("outcome"), "failed") << change->outputWhole();
  EXPECT_EQ(node_->state(), before);
}

/// Daemon and commands change at the same time.
TEST_F(AuditAlone, I7_WhatDaemonAndCommandsDoIsOneChain) {
  bring(kLaptop);
  ASSERT_TRUE(node_->serve({"--allow", "8086:2723", "--declare", "8086:2723"}))
      << node_->daemon().output();
  ASSERT_TRUE(node_->daemon().says("event=driver_change")) << node_->daemon().output();
  ASSERT_EQ(bindGpu().code, 0);
  ASSERT_EQ(node_->change({"unbind", kGpu}).code, 0);
  expectGoodLog();
  std::set<std::string> roles;
  for (const auto& record : node_->audit()) {
    if (record.at("kind") == "intent") roles.insert(record.at("peer").at("role"));
  }
  EXPECT_THAT(roles, testing::UnorderedElementsAre("privd", "root"));
}

/// What a daemon's log would have of it is in the audit log, and in the answer.
TEST_F(AuditAlone, ACommandAnswersAndLogsNothing) {
  bring(kLaptop);
  EXPECT_EQ(node_->change({"bind", kWifi}).text, "Done: 3 writes (audit record 1).\n");
  const Ended overridden = bindGpu();
  EXPECT_THAT(overridden.text, testing::StartsWith("Overridden:\n")) << overridden.text;
  const Ended refused = node_->change({"bind", kNvme});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text, testing::StartsWith("privd bind: refused, nothing was written"))
      << refused.text;
  for (const Ended& each : {overridden, refused}) {
    EXPECT_THAT(each.text, testing::Not(HasSubstr("event=")));
  }
}

TEST_F(AuditAlone, WhoKeepsTheLogLockedIsWaitedForAndNamed) {
  bring(kLaptop);
  const int log = open(node_->auditFile().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(log, LOCK_EX), 0);
  const Ended refused = node_->change({"bind", kWifi});
  EXPECT_EQ(refused.code, 1) << refused.text;
  EXPECT_THAT(refused.text, testing::AllOf(HasSubstr("another process has been writing it"),
                                           HasSubstr("pid " + std::to_string(getpid()) + " "),
                                           HasSubstr("has " + node_->auditFile() + " open")));
  EXPECT_THAT(node_->writes(), IsEmpty());
  close(log);
  const Ended bound = node_->change({"bind", kWifi});
  EXPECT_EQ(bound.code, 0) << bound.text;
}

/// Everything that may be in the log's place.
class AuditPlace : public EitherWay<BindCase> {};

TEST_P(AuditPlace, ASymbolicLinkIsNotFollowed) {
  bring(kLaptop);
  std::ofstream(node_->file("elsewhere")) << "";
  std::filesystem::create_symlink(node_->file("elsewhere"), node_->auditFile());
  const TreeState before = node_->state();
  if (GetParam()) {
    node_->launch();
    EXPECT_EQ(node_->daemon().wait(), 1);
    EXPECT_THAT(node_->daemon().outputWhole(), HasSubstr("audit.jsonl"));
  }
  const Ended ended = node_->change({"bind", kWifi});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("audit.jsonl"));
  EXPECT_EQ(node_->state(), before);
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(node_->file("elsewhere")), 0U);
}

TEST_P(AuditPlace, ADirectoryIsNoLog) {
  bring(kLaptop);
  std::filesystem::create_directory(node_->auditFile());
  if (GetParam()) {
    node_->launch();
    EXPECT_EQ(node_->daemon().wait(), 1);
  }
  const Ended ended = node_->change({"bind", kWifi});
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("audit.jsonl"));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_P(AuditPlace, WhereNothingCanBeWrittenBindsAreRefusedAndTheRestWorks) {
  bring(kLaptop);
  const SmallDisk disk(node_->file("log"));
  ASSERT_TRUE(disk.mounted() && disk.setReadOnly());
  const std::vector<std::string> there{"--audit-log", node_->file("log/audit.jsonl")};
  if (GetParam()) {
    ASSERT_TRUE(node_->serve(there)) << node_->daemon().output();
    EXPECT_TRUE(node_->daemon().says("event=audit_failed"));
  }
  const Ended ended = node_->change(words({"bind", kWifi}, there));
  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("Read-only file system"));
  EXPECT_THAT(node_->writes(), IsEmpty());
  const Ended dry = node_->change(words({"bind", kWifi, "--dry-run"}, there));
  EXPECT_EQ(dry.code, 0) << dry.text;
  const Ended held = node_->change(words({"hold", kWifi, "--reason", "try"}, there));
  EXPECT_EQ(held.code, 0) << held.text;
}

TEST_P(AuditPlace, OnAFullDiskBindsAreRefusedAndGoOnWhenThereIsRoom) {
  bring(kLaptop);
  const SmallDisk disk(node_->file("log"));
  ASSERT_TRUE(disk.mounted());
  const std::vector<std::string> there{"--audit-log", node_->file("log/audit.jsonl")};
  if (GetParam()) {
    ASSERT_TRUE(node_->serve(there)) << node_->daemon().output();
  }
  disk.fill();
  const Ended refused = node_->change(words({"bind", kWifi}, there));
  EXPECT_EQ(refused.code, 1) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("No space left"));
  EXPECT_THAT(node_->writes(), IsEmpty());
  disk.empty();
  const Ended ended = node_->change(words({"bind", kWifi}, there));
  EXPECT_EQ(ended.code, 0) << ended.text;
}

INSTANTIATE_TEST_SUITE_P(Ways, Audit, testing::Bool(), wayName);
INSTANTIATE_TEST_SUITE_P(Ways, AuditPlace, testing::Bool(), wayName);

}  // namespace
}  // namespace vfiogate::test
