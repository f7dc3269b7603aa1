// Virtual functions that privd makes at its start: once, guarded, recorded, and none ever ended.

#include "tests/integration/bind/bind_case.h"
#include "tests/support/until.h"

#include <csignal>
#include <fstream>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kCard = "0000:3b:00.0";
constexpr const char* kFirstVf = "0000:3b:01.0";
const std::string kNumVfs = "bus/pci/devices/0000:3b:00.0/sriov_numvfs";
const std::vector<std::string> kEight{"--vfs", "3b:00.0=8"};

class Vfs : public BindCase {
protected:
  void SetUp() override {
    BindCase::SetUp();
    if (!IsSkipped()) bring("nic-with-vfs.yaml");
  }
  void serve(const std::vector<std::string>& more) {
    ASSERT_TRUE(node_->serve(more)) << node_->daemon().output();
  }
  bool refused(const std::string& why) {
    return node_->daemon().saysAll({"event=declared_refused", kCard, why});
  }
  bool made(std::size_t times = 1) {
    return node_->daemon().saysAll({"event=driver_change", "operation=create-vfs", "outcome=done"},
                                   times);
  }
  /// As a person says it to the kernel whose virtual functions are for machines alone.
  void leaveWithoutDrivers() const {
    std::ofstream(node_->sysfs() + "/bus/pci/devices/" + kCard + "/sriov_drivers_autoprobe") << 0;
    ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  }
  bool awaited() { return node_->daemon().saysAll({"event=vfs_awaited", "3b:00.0="}); }
  /// Virtual functions of the card that are on this driver, or on any.
  std::size_t functions(const std::string& driver = "") const {
    std::size_t count = 0;
    for (const auto& [address, state] : node_->state()) {
      const bool its = address.starts_with("0000:3b:") && address != kCard;
      if (its && state.starts_with(driver)) ++count;
    }
    return count;
  }
};

TEST_F(Vfs, AreMadeAtTheStartAndThatIsOnRecordBeforeAndAfter) {
  serve(kEight);
  ASSERT_TRUE(made()) << node_->daemon().output();
  EXPECT_EQ(functions(), 8U);
  EXPECT_EQ(node_->driverOf(kCard), "ice");
  EXPECT_EQ(node_->driverOf(kFirstVf), "iavf") << "nobody said that it is to be bound";
  EXPECT_THAT(node_->writes(), ElementsAre(SeenWrite{kNumVfs, "8"}));
  const auto records = node_->audit();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].at("kind"), "intent");
  EXPECT_EQ(records[0].at("operation"), "create-vfs");
  EXPECT_EQ(records[0].at("peer").at("role"), "privd");
  EXPECT_EQ(records[0].at("group"), 21);
  EXPECT_EQ(records[0].at("devices").at(0).at("address"), kCard);
  EXPECT_EQ(records[0].at("devices").at(0).at("driver"), "ice");
  EXPECT_THAT(writesIn(records[0].at("writes")), ElementsAre(SeenWrite{kNumVfs, "8"}));
  EXPECT_THAT(records[0].at("undo"), IsEmpty()) << "none is ever ended";
  EXPECT_EQ(records[1].at("kind"), "outcome");
  EXPECT_EQ(records[1].at("outcome"), "done");
  expectGoodLog();
}

TEST_F(Vfs, AreBoundByADeclarationAsSoonAsTheyAreThere) {
  leaveWithoutDrivers();
  serve({"--vfs", "3b:00.0=8", "--allow", "sriov=vf", "--declare", "sriov=vf"});
  for (const char* address : {"0000:3b:01.0", "0000:3b:01.7"}) {
    EXPECT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", address}))
        << node_->daemon().output();
    EXPECT_EQ(node_->driverOf(address), "vfio-pci");
  }
  EXPECT_EQ(node_->driverOf(kCard), "ice");
}

// A selector that is wide enough covers the card, too.
TEST_F(Vfs, ACardThatIsToHaveSomeIsNotBoundByADeclaration) {
  leaveWithoutDrivers();
  serve({"--vfs", "8086:1593=2", "--allow", "vendor=8086", "--declare", "vendor=8086"});
  EXPECT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", "0000:3b:01.1"}))
      << node_->daemon().output();
  EXPECT_EQ(node_->driverOf(kCard), "ice");
}

// As the package's early unit does it.
TEST_F(Vfs, ACardThatIsToHaveSomeIsNotBoundBeforeTheBinderRunsEither) {
  ASSERT_EQ(node_->ctl("link ens1f0 down"), "ok\n");
  std::ofstream(node_->file("privd.conf"))
      << "allow vendor=8086\ndeclare vendor=8086\nvfs 3b:00.0=8\n";
  const Ended early = node_->change({"bind", "--declared", "--options", node_->file("privd.conf")});
  EXPECT_EQ(early.code, 0) << early.text;
  EXPECT_EQ(node_->driverOf(kCard), "ice");
}

TEST_F(Vfs, ThatAreThereInThatNumberAreLeftAlone) {
  leaveWithoutDrivers();
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 8"), "ok\n");
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  serve({"--vfs", "3b:00.0=8", "--allow", "sriov=vf", "--declare", "sriov=vf"});
  // Those that are declared say when the daemon has looked.
  EXPECT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", "0000:3b:01.7"}));
  for (const SeenWrite& write : node_->writes()) EXPECT_NE(write.attribute, kNumVfs);
  EXPECT_EQ(node_->daemon().count("event=declared_refused"), 0U) << node_->daemon().output();
}

TEST_F(Vfs, ThatAreThereInAnotherNumberAreNotEndedUntilAnOperatorHasDoneSo) {
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 4"), "ok\n");
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  serve(kEight);
  EXPECT_TRUE(refused("it has 4 virtual functions, and 8 are wanted: privd ends none"))
      << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_EQ(functions(), 4U);
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 0"), "ok\n");
  EXPECT_TRUE(made()) << node_->daemon().output();
  EXPECT_EQ(functions(), 8U);
}

TEST_F(Vfs, ThatAnOperatorTookAwayAreNotMadeAnewUntilTheCardAppearsAnew) {
  leaveWithoutDrivers();
  serve({"--vfs", "3b:00.0=2", "--allow", "sriov=vf", "--declare", "sriov=vf"});
  ASSERT_TRUE(made()) << node_->daemon().output();
  ASSERT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", "0000:3b:01.1"}));
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 0"), "ok\n");
  // Others, of which the last is bound: the daemon has looked since.
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 3"), "ok\n");
  ASSERT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", "0000:3b:01.2"}))
      << node_->daemon().output();
  EXPECT_EQ(functions(), 3U) << "never changed while privd runs";
  EXPECT_EQ(node_->daemon().count("event=declared_refused"), 0U) << "nor wanted any more";
  ASSERT_EQ(node_->ctl("vfs 0000:3b:00.0 0"), "ok\n");
  ASSERT_EQ(node_->ctl("unplug 0000:3b:00.0"), "ok\n");
  EXPECT_TRUE(awaited()) << node_->daemon().output();
  ASSERT_EQ(node_->ctl("plug 0000:3b:00.0"), "ok\n");
  EXPECT_TRUE(made(2)) << node_->daemon().output();
  EXPECT_EQ(functions(), 2U);
}

TEST_F(Vfs, ACardThatIsNotThereIsAwaitedAndThatIsSaid) {
  ASSERT_EQ(node_->ctl("unplug 0000:3b:00.0"), "ok\n");
  serve(kEight);
  EXPECT_TRUE(awaited()) << node_->daemon().output();
  ASSERT_EQ(node_->ctl("plug 0000:3b:00.0"), "ok\n");
  EXPECT_TRUE(made()) << node_->daemon().output();
  EXPECT_EQ(functions(), 8U);
  EXPECT_EQ(node_->daemon().count("event=vfs_awaited"), 1U);
}

TEST_F(Vfs, MoreThanTheCardCanHaveAreRefused) {
  serve({"--vfs", "3b:00.0=9"});
  EXPECT_TRUE(refused("it can have 8 virtual functions, and 9 are wanted"))
      << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_THAT(node_->intended(), IsEmpty());
}

TEST_F(Vfs, AreNotMadeOfACardThatIsPassedThroughUntilItIsGivenBack) {
  ASSERT_EQ(node_->change({"bind", kCard, "--override", "network"}).code, 0);
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  serve(kEight);
  EXPECT_TRUE(refused("it is on vfio-pci, to be passed through whole")) << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty());
  const Ended back = node_->change({"unbind", kCard});
  ASSERT_EQ(back.code, 0) << back.text;
  EXPECT_TRUE(made()) << node_->daemon().output();
}

TEST_F(Vfs, AreNotMadeOfACardThatAnOperatorExcluded) {
  ASSERT_EQ(node_->change({"hold", kCard, "--reason", "firmware update"}).code, 0);
  serve(kEight);
  EXPECT_TRUE(refused("operator: an operator excluded it")) << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_F(Vfs, ADriverThatMakesNoneIsToldSoOnce) {
  ASSERT_EQ(node_->ctl(std::string("fail ") + kCard + " sriov_numvfs ENOENT"), "ok\n");
  serve(kEight);
  EXPECT_TRUE(refused("its driver makes no virtual functions")) << node_->daemon().output();
  EXPECT_EQ(node_->audit().back().at("outcome"), "failed");
  EXPECT_EQ(node_->writes().size(), 1U);
  // It is tried again when the card has changed.
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  ASSERT_EQ(node_->ctl(std::string("unbind ") + kCard), "ok\n");
  EXPECT_TRUE(refused("it has no driver")) << node_->daemon().output();
  ASSERT_EQ(node_->ctl(std::string("bind ") + kCard + " ice"), "ok\n");
  EXPECT_TRUE(made()) << node_->daemon().output();
}

TEST_F(Vfs, AreNotMadeWhereNoRecordCanBeWritten) {
  node_->launch(words(kEight, {"--audit-log", node_->file("nowhere/deep/audit.jsonl")}));
  EXPECT_TRUE(refused("--audit-log")) << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_F(Vfs, AWriteThatHangsIsToldAsStuckAndHoldsUpNoOtherDeclaration) {
  bring("nic-with-64-vfs.yaml");
  ASSERT_EQ(node_->ctl(std::string("hang ") + kCard + " sriov_numvfs"), "ok\n");
  ASSERT_EQ(node_->ctl("bind 0000:3d:00.0 ice"), "ok\n");
  serve({"--vfs", "3b:00.0=2", "--allow", "vendor=8086", "--declare", "0000:3d:00.0=8086:1593",
         "--override", "network=0000:3d:00.0"});
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  EXPECT_TRUE(node_->daemon().saysAll({"event=driver_change", "operation=bind", "0000:3d:00.0"}))
      << node_->daemon().output();
  EXPECT_EQ(node_->daemon().count("event=write_stuck"), 0U) << "it did not wait for that";
  // While it hangs the card is nobody else's.
  const Ended other = node_->change({"bind", kCard, "--override", "network"});
  EXPECT_EQ(other.code, 1) << other.text;
  EXPECT_THAT(other.text, HasSubstr("its drivers are being changed by another process"));
  EXPECT_TRUE(node_->daemon().says("event=write_stuck")) << node_->daemon().output();
  EXPECT_TRUE(refused("has not come back")) << node_->daemon().output();
  EXPECT_EQ(node_->audit().back().at("outcome"), "stuck");
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_TRUE(node_->daemon().says("event=write_ended_late")) << node_->daemon().output();
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  EXPECT_EQ(functions(), 2U) << "it happened after all";
  expectGoodLog();
}

TEST_F(Vfs, AWriteThatHangsIsShownAsStuckOnceASecondForEachHasPassed) {
  ASSERT_EQ(node_->ctl(std::string("hang ") + kCard + " sriov_numvfs"), "ok\n");
  serve(kEight);
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  const auto stateOf = [&](const char* state) {
    return BindNode::plain({"list", "--state", state, "--sysfs", node_->sysfs(), "--dev",
                            node_->dev(), "--record-dir", node_->stateDir() + "/devices"})
        .text;
  };
  EXPECT_THAT(stateOf("binding"), HasSubstr(kCard));
  EXPECT_TRUE(node_->daemon().says("event=write_stuck")) << node_->daemon().output();
  // Whose clock began when its process did.
  EXPECT_TRUE(until([&] { return stateOf("write-stuck").find(kCard) != std::string::npos; }));
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  EXPECT_TRUE(node_->daemon().says("event=write_ended_late")) << node_->daemon().output();
}

// Whoever is killed in the middle: the write goes on, and the next one finds what came of it.
TEST_F(Vfs, I8_ABinderThatIsKilledMeanwhileLeavesWhatTheNextOneFinds) {
  ASSERT_EQ(node_->ctl(std::string("hang ") + kCard + " sriov_numvfs"), "ok\n");
  serve(kEight);
  ASSERT_EQ(node_->ctl("await-waiting 1"), "ok\n");
  node_->kill();
  EXPECT_EQ(node_->audit().back().at("kind"), "intent") << "what became of it nobody knew";
  serve(kEight);
  EXPECT_TRUE(refused("a write of one has not come back")) << node_->daemon().output();
  EXPECT_EQ(functions(), 0U);
  ASSERT_EQ(node_->ctl("unhang"), "ok\n");
  ASSERT_EQ(node_->ctl("await-waiting 0"), "ok\n");
  EXPECT_EQ(functions(), 8U);
  node_->kill();
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  serve({"--vfs", "3b:00.0=8", "--vfs", "address=0000:99:*=1"});
  EXPECT_TRUE(node_->daemon().says("event=vfs_awaited")) << "it has looked";
  node_->daemon().signal(SIGTERM);
  EXPECT_EQ(node_->daemon().wait(), 0) << node_->daemon().output();
  EXPECT_THAT(node_->writes(), IsEmpty()) << "so already";
  EXPECT_EQ(node_->daemon().count("event=declared_refused"), 0U) << node_->daemon().output();
  expectGoodLog();
}

TEST_F(Vfs, SixtyFourOfThemAreMadeAndAllBound) {
  bring("nic-with-64-vfs.yaml");
  serve({"--vfs", "3b:00.0=64"});
  ASSERT_TRUE(made()) << node_->daemon().output();
  EXPECT_EQ(functions("vfio-pci "), 64U) << "vfio-pci takes them as they come";
}

}  // namespace
}  // namespace vfiogate::test
