// What is declared is bound whenever it appears; what is held stays out of offer.

#include "tests/integration/bind/bind_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kDeclareWifi{"--allow", "8086:2723", "--declare",
                                            std::string(kWifi) + "=8086:2723"};

class Declare : public BindCase {
protected:
  void serve(const std::vector<std::string>& more = {}) {
    ASSERT_TRUE(node_->serve(more)) << node_->daemon().output();
  }
  /// The daemon has told the end of a change of this device, so many times.
  bool changed(const char* address, std::size_t times = 1) {
    return node_->daemon().saysAll({"event=driver_change", address}, times);
  }
};

TEST_F(Declare, ADeclaredDeviceIsBoundAtTheStart) {
  bring(kLaptop);
  serve(kDeclareWifi);
  EXPECT_TRUE(changed(kWifi)) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci");
  const auto records = node_->audit();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].at("peer").at("role"), "privd");
  // Undeclaring, too, changes nothing.
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  node_->kill();
  serve();
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_EQ(node_->change({"unbind", kWifi}).code, 0);
  EXPECT_EQ(node_->driverOf(kWifi), "iwlwifi");
}

TEST_F(Declare, AnotherCardAtThatAddressIsNotBound) {
  bring("thunderbolt.yaml");
  serve(
      {"--allow", "vendor=1002", "--declare", "0000:06:00.0=1002:73a5", "--declare", "1002:ab28"});
  ASSERT_EQ(node_->ctl("plug 0000:04:00.0 0000:05:01.0 0000:06:00.0 0000:06:00.1"), "ok\n");
  EXPECT_TRUE(changed("0000:06:00.1")) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf("0000:06:00.1"), "vfio-pci") << "declared, and just plugged in";
  EXPECT_EQ(node_->driverOf("0000:06:00.0"), "amdgpu");
}

// Without plugind, and long before the next rescan.
TEST_F(Declare, WhatIsPluggedInLaterIsBoundByTheDaemonsOwnUevents) {
  bring("thunderbolt.yaml");
  serve(
      {"--uevents", "on", "--rescan", "3600", "--allow", "vendor=1002", "--declare", "class=0403"});
  ASSERT_EQ(node_->ctl("plug 0000:04:00.0 0000:05:01.0 0000:06:00.1"), "ok\n");
  EXPECT_TRUE(changed("0000:06:00.1")) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf("0000:06:00.1"), "vfio-pci");
}

TEST_F(Declare, WhatAPersonUnboundIsLeftUntilItIsPluggedAnew) {
  bring("thunderbolt.yaml");
  serve({"--allow", "vendor=1002", "--declare", "class=0403", "--declare", "1002:73bf"});
  ASSERT_EQ(node_->ctl("plug 0000:04:00.0 0000:05:01.0 0000:06:00.1"), "ok\n");
  ASSERT_TRUE(changed("0000:06:00.1")) << node_->daemon().output();
  ASSERT_EQ(node_->change({"unbind", "0000:06:00.1"}).code, 0);
  // Another that is declared appears: declared devices have been looked after since.
  ASSERT_EQ(node_->ctl("plug 0000:06:00.0"), "ok\n");
  ASSERT_TRUE(changed("0000:06:00.0")) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf("0000:06:00.1"), "snd_hda_intel");
}

TEST_F(Declare, WhatIsNotAllowedOrGuardedIsNotBoundAndThatIsSaid) {
  bring(kLaptop);
  serve({"--allow", "10ec:8168", "--declare", "8086:2723", "--declare", "10ec:8168"});
  EXPECT_TRUE(node_->daemon().saysAll({"event=declared_refused", kWifi, "no --allow"}));
  EXPECT_TRUE(node_->daemon().saysAll({"event=declared_refused", kLan, "is up"}));
  EXPECT_THAT(node_->writes(), IsEmpty());
  // It is tried again when the device changes.
  ASSERT_EQ(node_->ctl("link enp3s0 down"), "ok\n");
  ASSERT_EQ(node_->ctl(std::string("unbind ") + kLan), "ok\n");
  EXPECT_TRUE(changed(kLan)) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf(kLan), "vfio-pci");
}

TEST_F(Declare, WhatIsKeptIsBoundAfterARestartUntilItIsForgotten) {
  bring(kLaptop);
  serve();
  ASSERT_EQ(node_->change({"bind", kWifi, "--keep"}).code, 0);
  EXPECT_THAT(node_->change({"holds"}).text, HasSubstr(kWifi));
  node_->kill();
  // As after a reboot.
  ASSERT_EQ(node_->ctl(std::string("bind ") + kWifi + " iwlwifi"), "ok\n");
  serve();
  EXPECT_TRUE(changed(kWifi)) << node_->daemon().output();
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci");
  ASSERT_EQ(node_->change({"forget", kWifi}).code, 0);
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci") << "what is bound stays bound";
  node_->kill();
  ASSERT_EQ(node_->ctl(std::string("bind ") + kWifi + " iwlwifi"), "ok\n");
  ASSERT_EQ(node_->ctl("writes clear"), "ok\n");
  // One that is declared says when the daemon has looked.
  serve({"--declare", "10ec:8168"});
  EXPECT_TRUE(node_->daemon().saysAll({"event=declared_refused", kLan}));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_F(Declare, ADeviceOutOfOfferIsNotBoundUntilItIsReleasedAndRootMayBindIt) {
  bring(kLaptop);
  ASSERT_EQ(node_->change({"hold", kWifi, "--reason", "firmware update"}).code, 0);
  serve(kDeclareWifi);
  EXPECT_TRUE(
      node_->daemon().saysAll({"event=declared_refused", kWifi, "an operator excluded it"}));
  EXPECT_THAT(node_->change({"holds"}).text, HasSubstr("firmware update"));
  EXPECT_THAT(node_->writes(), IsEmpty());
  EXPECT_EQ(node_->change({"bind", kWifi}).code, 0);
  EXPECT_TRUE(node_->daemon().says("event=exclusions devices=1")) << "which it met at its start";
  EXPECT_EQ(node_->change({"release", kWifi}).code, 0);
  EXPECT_TRUE(node_->daemon().says("event=exclusions devices=0"));
  EXPECT_THAT(node_->change({"holds"}).text, Not(HasSubstr("firmware update")));
}

// As the package's early unit does it, before the binder runs.
TEST_F(Declare, ADeviceOutOfOfferIsNotBoundWithoutADaemonEither) {
  bring(kLaptop);
  const auto early = words({"bind", "--declared"}, kDeclareWifi);
  ASSERT_EQ(node_->change({"hold", kWifi, "--reason", "firmware update"}).code, 0);
  const Ended refused = node_->change(early);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.text, HasSubstr("an operator excluded it"));
  EXPECT_THAT(node_->writes(), IsEmpty());
  ASSERT_EQ(node_->change({"release", kWifi}).code, 0);
  EXPECT_EQ(node_->change(early).code, 0);
  EXPECT_EQ(node_->driverOf(kWifi), "vfio-pci");
  EXPECT_EQ(node_->audit().back().at("outcome"), "done");
  EXPECT_EQ(node_->audit().rbegin()[1].at("peer").at("role"), "privd");
}

TEST_F(Declare, I6_EveryMemberNeedsItsAllowWithoutADaemonToo) {
  bring(kLaptop);
  const Ended early = node_->change(
      words({"bind", "--declared", "--allow", "class=0403", "--declare", "class=0403"}, kLiftGpu));
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.text,
              HasSubstr(std::string(kGpu) + "  policy: no --allow of privd matches it"));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

TEST_F(Declare, WhatIsDeniedIsRefusedInThePolicysWordsWithoutADaemonToo) {
  bring(kLaptop);
  const Ended early =
      node_->change(words({"bind", "--declared", "--deny", "8086:2723"}, kDeclareWifi));
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.text, HasSubstr(std::string(kWifi) + "  policy: a --deny of privd matches it"));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

class Hold : public EitherWay<BindCase> {};

TEST_P(Hold, AnExclusionOutlivesEverythingAndIsRecorded) {
  bringUp(kLaptop);
  ASSERT_EQ(node_->change({"hold", kWifi, "--reason", "firmware update"}).code, 0);
  if (GetParam()) node_->kill();
  const Ended alone = node_->change({"holds", "-o", "json"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.text, HasSubstr("firmware update"));
  const Ended listed =
      BindNode::plain({"list", "--state", "operator-excluded", "--sysfs", node_->sysfs(), "--dev",
                       node_->dev(), "--state-dir", node_->stateDir()});
  EXPECT_THAT(listed.text, HasSubstr(kWifi)) << "as plugind says it";
  EXPECT_EQ(node_->change({"hold", kWifi, "--reason", "two\nlines"}).code, 2);
  EXPECT_EQ(node_->change({"release", kWifi}).code, 0);
  EXPECT_EQ(node_->change({"release", kWifi}).code, 0) << "already so";
  std::vector<std::string> notes;
  for (const auto& record : node_->audit()) notes.push_back(record.at("operation"));
  EXPECT_THAT(notes, testing::ElementsAre("hold", "release"));
  EXPECT_THAT(node_->writes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ways, Hold, testing::Bool(), wayName);

}  // namespace
}  // namespace vfiogate::test
