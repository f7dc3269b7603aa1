#include "privd/cli/binding/bind_declared.h"

#include "privd/base/instance_lock.h"
#include "privd/bind/plan/declaration.h"
#include "tests/support/fake_sysfs.h"

#include <kj/debug.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kBreaks = "breaks off";

/// Notes what it is to change. Of the addresses that are `refused` it says why; or it breaks off.
class DeclaredService final : public BindingService {
public:
  DeclaredService(std::vector<std::string>& bound, std::vector<ChangeBy>& by,
                  std::vector<DeviceIdentity> kept,
                  const std::map<std::string, std::string>& refused)
      : bound_(bound), by_(by), kept_(std::move(kept)), refused_(refused) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, ChangeBy by, AuditPeer who) override {
    EXPECT_EQ(order.kind, ChangeKind::kBind);
    EXPECT_EQ(who.role, "privd");
    EXPECT_EQ(who.pid, getpid());
    by_.push_back(by);
    bound_.push_back(order.addresses.at(0).str());
    ChangeReport report;
    EXPECT_EQ(order.addresses.size(), 1U);
    if (const auto why = refused_.find(bound_.back()); why != refused_.end()) {
      if (why->second == kBreaks) return KJ_EXCEPTION(FAILED, "the pipe is closed");
      report.outcome = ChangeOutcome::kRefused;
      report.error = why->second;
    }
    return report;
  }
  Result<std::vector<DeviceIdentity>, std::string> declared() override { return kept_; }

private:
  std::vector<std::string>& bound_;
  std::vector<ChangeBy>& by_;
  const std::vector<DeviceIdentity> kept_;
  const std::map<std::string, std::string>& refused_;
};

class BindDeclared : public testing::Test {
protected:
  void SetUp() override {
    hardware_.add({.address = "0000:01:00.0", .device = 0x2236, .driver = "nouveau", .group = 1});
    hardware_.add({.address = "0000:02:00.0", .device = 0x1111, .driver = "nouveau", .group = 2});
    hardware_.add({.address = "0000:03:00.0", .device = 0x2236, .driver = "nouveau", .group = 3});
    options_.local.sysfs = hardware_.sysfs();
    options_.local.dev = hardware_.dev();
    options_.local.stateDir = place_ / "state";
  }

  int bind(const std::vector<std::string>& declared) {
    DeclaredDevices devices;
    for (const std::string& text : declared) {
      devices.selectors.push_back(parseDeclaration(text).value());
    }
    for (const std::string& text : vfs_) devices.vfs.push_back(parseVfs(text).value());
    auto io = kj::setupAsyncIo();
    const BindingServiceMaker make = [this](const LocalBindingOptions&, kj::AsyncIoContext&) {
      ++made_;
      kj::Own<BindingService> service = kj::heap<DeclaredService>(bound_, by_, kept_, refused_);
      return Result<kj::Own<BindingService>, std::string>(kj::mv(service));
    };
    return bindDeclared({}, devices, options_, make, io, {out_, err_, form_});
  }

  void keep(const char* address, std::uint16_t device) {
    std::filesystem::create_directories(options_.local.stateDir + "/declared/" + address);
    kept_.push_back({Bdf::parse(address).value(), 0x10de, device});
  }

  FakeSysfs hardware_;
  TempDir place_;
  ControlOptions options_;
  std::vector<DeviceIdentity> kept_;
  std::vector<std::string> vfs_;
  std::map<std::string, std::string> refused_{{"0000:03:00.0", "in use"}};
  std::string form_ = "table";
  std::vector<std::string> bound_;
  std::vector<ChangeBy> by_;
  unsigned made_ = 0;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(BindDeclared, NothingDeclaredTouchesNothing) {
  EXPECT_EQ(bind({}), 0);
  EXPECT_EQ(made_, 0U);
  EXPECT_FALSE(std::filesystem::exists(options_.local.stateDir));
  EXPECT_THAT(out_.str(), HasSubstr("nothing is declared"));
}

TEST_F(BindDeclared, BindsWhatIsDeclaredAndWhatIsKept) {
  keep("0000:02:00.0", 0x1111);
  EXPECT_EQ(bind({"0000:01:00.0=10de:2236"}), 0);
  EXPECT_THAT(bound_, ElementsAre("0000:01:00.0", "0000:02:00.0"));
  EXPECT_THAT(by_, ElementsAre(ChangeBy::kDeclaration, ChangeBy::kOperator))
      << "what root kept needs no --allow";
}

TEST_F(BindDeclared, LeavesItToADaemonThatHasTheNodesLock) {
  options_.local.binding.allow.push_back(Selector::parse("10de:2236").value());
  auto daemon = InstanceLock::open(options_.local.stateDir).value();
  ASSERT_TRUE(daemon.tryTake());
  EXPECT_EQ(bind({"0000:01:00.0=10de:2236"}), 0);
  EXPECT_EQ(made_, 0U);
  EXPECT_THAT(out_.str(), HasSubstr("a daemon runs, which binds what is declared by itself (pid="));
}

TEST_F(BindDeclared, AnotherCardInThePlaceIsNotMeant) {
  keep("0000:02:00.0", 0x2222);
  options_.local.binding.allow.push_back(Selector::parse("vendor=10de").value());
  EXPECT_EQ(bind({"0000:01:00.0=10de:3333"}), 0);
  EXPECT_TRUE(bound_.empty());
}

TEST_F(BindDeclared, WhatIsToHaveVirtualFunctionsStaysWithItsDriver) {
  options_.local.binding.allow.push_back(Selector::parse("vendor=10de").value());
  for (const char* address : {"0000:01:00.0", "0000:02:00.0"}) {
    hardware_.setAttribute(address, "sriov_totalvfs", "8");
    hardware_.setAttribute(address, "sriov_numvfs", "0");
  }
  keep("0000:01:00.0", 0x2236);
  vfs_ = {"01:00.0=8", "10de:2236=4"};
  EXPECT_EQ(bind({"10de:2236", "10de:1111"}), 1) << "of the one that is in use";
  EXPECT_THAT(bound_, ElementsAre("0000:02:00.0", "0000:03:00.0"))
      << "no line is about the former, and the latter is no physical function";
}

// Who judges it knows --deny, too.
TEST_F(BindDeclared, WhatNoAllowMatchesIsJudgedByWhoBindsIt) {
  options_.local.binding.allow.push_back(Selector::parse("10de:2236").value());
  refused_["0000:02:00.0"] = "0000:02:00.0: policy: a --deny of privd matches it";
  EXPECT_EQ(bind({"10de:1111"}), 1);
  EXPECT_THAT(bound_, ElementsAre("0000:02:00.0"));
  EXPECT_THAT(by_, ElementsAre(ChangeBy::kDeclaration));
  EXPECT_THAT(err_.str(), HasSubstr("0000:02:00.0: policy: a --deny of privd matches it"));
}

TEST_F(BindDeclared, ARefusalKeepsNoOtherDeviceBackAndIsTheExitCode) {
  refused_["0000:02:00.0"] = "0000:02:00.0: no --allow";
  EXPECT_EQ(bind({"vendor=10de"}), 1);
  EXPECT_THAT(bound_, ElementsAre("0000:01:00.0", "0000:02:00.0", "0000:03:00.0"));
  EXPECT_THAT(err_.str(), HasSubstr("0000:02:00.0: no --allow"));
}

TEST_F(BindDeclared, OneThatBreaksOffIsInTheListAndKeepsNoOtherBack) {
  form_ = "json";
  refused_["0000:02:00.0"] = kBreaks;
  EXPECT_EQ(bind({"vendor=10de"}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("the pipe is closed"));
  const auto list = nlohmann::json::parse(out_.str());
  ASSERT_EQ(list.size(), 3U) << list;
  EXPECT_EQ(list[1]["address"], "0000:02:00.0");
  EXPECT_THAT(list[1]["error"], HasSubstr("the pipe is closed: what became of the change"));
  EXPECT_EQ(list[2]["error"], "in use");
}

TEST_F(BindDeclared, AsADocumentItIsOneListOfWhatBecameOfEach) {
  form_ = "json";
  EXPECT_EQ(bind({}), 0);
  EXPECT_EQ(out_.str(), "[]\n");
  EXPECT_THAT(err_.str(), HasSubstr("nothing is declared"));
  out_.str("");
  {
    auto daemon = InstanceLock::open(options_.local.stateDir).value();
    ASSERT_TRUE(daemon.tryTake());
    EXPECT_EQ(bind({"10de:2236"}), 0);
    EXPECT_EQ(out_.str(), "[]\n");
    EXPECT_THAT(err_.str(), HasSubstr("a daemon runs"));
  }
  out_.str("");
  refused_["0000:02:00.0"] = "0000:02:00.0: no --allow";
  EXPECT_EQ(bind({"vendor=10de"}), 1);
  const auto list = nlohmann::json::parse(out_.str());
  ASSERT_EQ(list.size(), 3U) << list;
  EXPECT_EQ(list[0]["address"], "0000:01:00.0");
  EXPECT_EQ(list[0]["outcome"], "done");
  EXPECT_EQ(list[1]["address"], "0000:02:00.0");
  EXPECT_EQ(list[1]["outcome"], "refused");
  EXPECT_THAT(list[1]["error"], HasSubstr("no --allow"));
  EXPECT_EQ(list[2]["address"], "0000:03:00.0");
  EXPECT_EQ(list[2]["error"], "in use");
  out_.str("");
  form_ = "yaml";
  EXPECT_EQ(bind({}), 0);
  EXPECT_EQ(out_.str(), "[]\n");
}

}  // namespace
}  // namespace vfiogate
