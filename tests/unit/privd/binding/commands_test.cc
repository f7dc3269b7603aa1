// The commands, from the words that are typed to the service that gets the order.

#include "privd/cli/binding/commands.h"
#include "privd/cli/binding/kept_text.h"
#include "privd/cli/binding/run_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Bdf placeOf(const char* address) {
  return Bdf::parse(address).value();
}

/// What a service was asked.
struct Asked {
  std::vector<ChangeOrder> orders;
  std::vector<std::string> acts;
  LocalBindingOptions options;
  unsigned made = 0;
};

class NotingService final : public BindingService {
public:
  NotingService(Asked& asked, ChangeReport report) : asked_(asked), report_(std::move(report)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, ChangeBy by, AuditPeer who) override {
    EXPECT_EQ(who.pid, getpid());
    EXPECT_EQ(who.role, "root");
    EXPECT_EQ(by, ChangeBy::kOperator);
    asked_.orders.push_back(std::move(order));
    return report_;
  }
  Result<std::vector<DeviceIdentity>, std::string> declared() override {
    return std::vector<DeviceIdentity>();
  }

private:
  Asked& asked_;
  const ChangeReport report_;
};

class NotingKeeper final : public KeepService {
public:
  explicit NotingKeeper(Asked& asked) : asked_(asked) {}

  Result<Done, std::string> exclude(const UnitId& device, const std::string& reason,
                                    const AuditPeer& /*who*/) override {
    return note("hold " + device.str() + " " + reason);
  }
  Result<Done, std::string> release(const UnitId& device, const AuditPeer& /*who*/) override {
    return note("release " + device.str());
  }
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& /*who*/) override {
    if (address == placeOf("0000:02:00.0")) return Failure{std::string("the disk is full")};
    return note("forget " + address.str());
  }
  Result<std::vector<Exclusion>, std::string> exclusions() override {
    return std::vector<Exclusion>();
  }
  Result<std::vector<DeviceIdentity>, std::string> declared() override {
    return std::vector<DeviceIdentity>();
  }

private:
  Result<Done, std::string> note(std::string act) {
    asked_.acts.push_back(std::move(act));
    return Done{};
  }

  Asked& asked_;
};

class BindingCommands : public testing::Test {
protected:
  ~BindingCommands() noexcept override = default;

  /// Types it after `privd`; returns the exit code.
  int type(std::vector<std::string> words) {
    err_.clear();
    CLI::App app("", "privd");
    int exitCode = 0;
    const BindingServiceMaker make = [this](const LocalBindingOptions& options,
                                            kj::AsyncIoContext&) {
      asked_.options = options;
      ++asked_.made;
      if (!noService_.empty())
        return Result<kj::Own<BindingService>, std::string>(Failure{noService_});
      kj::Own<BindingService> service = kj::heap<NotingService>(asked_, report_);
      return Result<kj::Own<BindingService>, std::string>(kj::mv(service));
    };
    const KeepServiceMaker makeKeeper = [this](const LocalBindingOptions& options) {
      asked_.options = options;
      ++asked_.made;
      if (!noService_.empty())
        return Result<kj::Own<KeepService>, std::string>(Failure{noService_});
      kj::Own<KeepService> service = kj::heap<NotingKeeper>(asked_);
      return Result<kj::Own<KeepService>, std::string>(kj::mv(service));
    };
    addChangeCommands(app, exitCode, make);
    addKeepCommands(app, exitCode, makeKeeper);
    std::ranges::reverse(words);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      err_ = error.what();
      exitCode = 2;
    }
    out_ = testing::internal::GetCapturedStdout();
    err_ += testing::internal::GetCapturedStderr();
    return exitCode;
  }

  Asked asked_;
  ChangeReport report_;
  std::string noService_;
  std::string out_;
  std::string err_;
};

TEST_F(BindingCommands, ABindIsOneOrderOverAllItsAddresses) {
  EXPECT_EQ(type({"bind", "01:00.0", "0000:02:00.1", "0000:01:00.0", "--driver", "mlx5_vfio_pci",
                  "--dry-run", "--keep", "--override", "users", "--override",
                  "boot-vga=pci_0000_02_00_1"}),
            0);
  ASSERT_EQ(asked_.orders.size(), 1U);
  EXPECT_EQ(asked_.orders.front(),
            (ChangeOrder{.kind = ChangeKind::kBind,
                         .addresses = {placeOf("0000:01:00.0"), placeOf("0000:02:00.1")},
                         .driver = "mlx5_vfio_pci",
                         .overrides = {{Guard::kUsers, std::nullopt},
                                       {Guard::kBootVga, placeOf("0000:02:00.1")}},
                         .dryRun = true,
                         .keep = true}));
  EXPECT_THAT(out_, HasSubstr("Dry run: nothing was written"));
}

TEST_F(BindingCommands, AnOverrideTakesOneWordSoThatAddressesMayFollowIt) {
  EXPECT_EQ(type({"unbind", "--override", "users", "01:00.0"}), 0);
  EXPECT_EQ(asked_.orders.at(0), (ChangeOrder{.kind = ChangeKind::kUnbind,
                                              .addresses = {placeOf("0000:01:00.0")},
                                              .overrides = {{Guard::kUsers, std::nullopt}}}));
}

TEST_F(BindingCommands, MisuseIsSaidBeforeAnythingIsOpened) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> rows{
      {{"bind"}, "ADDRESS is required"},
      {{"bind", "01:00.0", "--override", "fear"},
       "'fear' is no guard that may be overridden: those are boot-vga, console, storage, network, "
       "users, no-iommu, held, unguarded"},
      {{"bind", "01:00.0", "--override", "root-disk"}, "'root-disk' is no guard that may be"},
      {{"bind", "01:00.0", "--override", "users=here"}, "'here' is no PCI address"},
      {{"bind", "01:00.0", "--driver", "../nvme"}, "'../nvme' is no driver's name"},
      {{"unbind", "01:00.0", "--driver", "vfio-pci"}, "--driver"},
      {{"unbind", "01:00.0", "--keep"}, "--keep"},
      {{"bind", "01:00.0", "-o", "svg"}, "'svg' is no form of output"},
      {{"hold", "01:00.0"}, "--reason is required"},
      {{"hold", "01:00.0", "--reason", ""}, "give one line of 1 to 200 bytes"},
      {{"hold", "01:00.0", "--reason", "two\nlines"}, "give one line of 1 to 200 bytes"},
      {{"hold", "01:00.0", "--reason", std::string(201, 'x')}, "give one line of 1 to 200 bytes"},
      {{"release"}, "ADDRESS is required"}};
  for (const auto& [words, says] : rows) {
    EXPECT_EQ(type(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(err_, HasSubstr(says));
  }
  EXPECT_EQ(asked_.made, 0U);
}

TEST_F(BindingCommands, WhatNamesNoDeviceEndsWithTwoAndPointsToTheList) {
  for (const char* command : {"bind", "unbind", "release", "forget"}) {
    EXPECT_EQ(type({command, "01:00.0", "first"}), 2) << command;
    EXPECT_THAT(err_, StartsWith(std::string("privd ") + command + ": 'first' is no device here"));
    EXPECT_THAT(err_, HasSubstr("privd list has what there is"));
  }
  EXPECT_EQ(asked_.made, 0U);
}

TEST_F(BindingCommands, TheExitCodeIsTheOutcomes) {
  for (const auto& [outcome, code] :
       std::initializer_list<std::pair<ChangeOutcome, int>>{{ChangeOutcome::kDone, 0},
                                                            {ChangeOutcome::kAlreadySo, 0},
                                                            {ChangeOutcome::kRefused, 1},
                                                            {ChangeOutcome::kFailed, 1},
                                                            {ChangeOutcome::kLeftChanged, 3},
                                                            {ChangeOutcome::kStuck, 3}}) {
    report_.outcome = outcome;
    EXPECT_EQ(type({"bind", "01:00.0"}), code) << nameOf(outcome);
    EXPECT_EQ(type({"bind", "01:00.0", "-o", "json"}), code) << nameOf(outcome);
    EXPECT_EQ(nlohmann::json::parse(out_)["outcome"], nameOf(outcome));
  }
}

TEST_F(BindingCommands, WithoutADaemonTheServiceIsToldWhatTheDaemonWouldBe) {
  EXPECT_EQ(type({"bind",
                  "01:00.0",
                  "--sysfs",
                  "/host/sys",
                  "--dev",
                  "/host/dev",
                  "--state-dir",
                  "/s",
                  "--audit-log",
                  "/a",
                  "--allow",
                  "vendor=10de",
                  "--allow",
                  "class=03",
                  "--deny",
                  "address=0000:00:*",
                  "--host-mountinfo",
                  "/m",
                  "--host-route",
                  "/r",
                  "--allow-storage",
                  "--allow-unguarded-unbind"}),
            0);
  EXPECT_EQ(asked_.options.sysfs, "/host/sys");
  EXPECT_EQ(asked_.options.dev, "/host/dev");
  EXPECT_EQ(asked_.options.stateDir, "/s");
  EXPECT_EQ(asked_.options.binding.auditLog, "/a");
  EXPECT_THAT(asked_.options.binding.allow, ElementsAre(Selector::parse("vendor=10de").value(),
                                                        Selector::parse("class=03").value()));
  EXPECT_THAT(asked_.options.binding.deny,
              ElementsAre(Selector::parse("address=0000:00:*").value()));
  EXPECT_EQ(asked_.options.binding.hostMountinfo, "/m");
  EXPECT_EQ(asked_.options.binding.hostRoute, "/r");
  EXPECT_TRUE(asked_.options.binding.allowStorage);
  EXPECT_TRUE(asked_.options.binding.allowUnguardedUnbind);
}

TEST_F(BindingCommands, AServiceThatCannotBeMadeIsARefusal) {
  noService_ = "pid=7 host=node-1 has the lock";
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"bind", "01:00.0"}, {"holds"}, {"hold", "01:00.0", "--reason", "x"}}) {
    EXPECT_EQ(type(words), 1);
    EXPECT_EQ(err_, "privd " + words.front() + ": pid=7 host=node-1 has the lock\n");
  }
}

TEST_F(BindingCommands, WhoKeepsTheAuditLogLockedIsNamed) {
  const TempDir dir;
  const kj::AutoCloseFd log(
      open((dir / "audit.jsonl").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  report_.outcome = ChangeOutcome::kRefused;
  report_.error = "the audit log cannot be written";
  report_.writes = {{placeOf("0000:01:00.0"), "bus/pci/drivers/vfio-pci/bind", "0000:01:00.0"}};
  const std::vector<std::string> bind{"bind", "01:00.0", "--audit-log", dir / "audit.jsonl"};
  const std::string who = "written; pid " + std::to_string(getpid()) + " ";
  type(bind);
  EXPECT_THAT(err_, Not(HasSubstr("pid")));
  ASSERT_EQ(flock(log, LOCK_EX), 0);
  type(bind);
  EXPECT_THAT(err_, HasSubstr(who));
}

TEST_F(BindingCommands, WhatIsKeptIsChangedDeviceByDevice) {
  EXPECT_EQ(type({"hold", "01:00.0", "--reason", "fan dies"}), 0);
  EXPECT_EQ(type({"release", "01:00.0", "01:00.0", "03:00.0"}), 0);
  EXPECT_THAT(asked_.acts, ElementsAre("hold 0000:01:00.0 fan dies", "release 0000:01:00.0",
                                       "release 0000:03:00.0"));
  asked_.acts.clear();
  EXPECT_EQ(type({"forget", "01:00.0", "02:00.0", "03:00.0"}), 1);
  EXPECT_EQ(err_, "privd forget: the disk is full\n");
  EXPECT_THAT(asked_.acts, ElementsAre("forget 0000:01:00.0", "forget 0000:03:00.0"));
}

TEST_F(BindingCommands, AMediatedDeviceIsHeldAndReleasedByItsUuidAndNothingElse) {
  const std::string uuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  TempDir sysfs;
  std::filesystem::create_directories(sysfs / ("bus/mdev/devices/" + uuid));
  EXPECT_EQ(type({"hold", uuid, "--reason", "broken", "--sysfs", sysfs.path()}), 0);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(type({"release", "3F5E2C10-0001-4A5B-8C6D-000000000001"}), 0);
  EXPECT_THAT(asked_.acts, ElementsAre("hold " + uuid + " broken", "release " + uuid));
  for (const char* command : {"bind", "unbind", "forget"}) {
    EXPECT_EQ(type({command, uuid}), 2) << command;
    EXPECT_THAT(err_, HasSubstr("whose drivers are never changed")) << command;
  }
  EXPECT_EQ(type({"hold", "3f5e2c10-0001-4a5b-8c6d-00000000000", "--reason", "x"}), 2);
  EXPECT_THAT(err_, HasSubstr("is no UUID of a mediated device"));
}

TEST_F(BindingCommands, AHoldRemarksOnWhatItMayNotMean) {
  const std::string uuid = "3f5e2c10-0001-4a5b-8c6d-000000000001";
  TempDir sysfs;
  EXPECT_EQ(type({"hold", uuid, "--reason", "broken", "--sysfs", sysfs.path()}), 0);
  EXPECT_EQ(err_,
            "privd hold: " + uuid +
                ": there is no such mediated device now: it is excluded when it comes. A card "
                "that is bound to a VFIO driver has none\n");
  std::filesystem::create_directories(sysfs / ("bus/pci/devices/0000:01:00.0/" + uuid));
  EXPECT_EQ(type({"hold", "01:00.0", "--reason", "broken", "--sysfs", sysfs.path()}), 0);
  EXPECT_EQ(err_, "privd hold: 0000:01:00.0: its mediated devices, such as " + uuid +
                      ", are allocated still: hold each by its UUID\n");
  EXPECT_EQ(type({"hold", "02:00.0", "--reason", "broken", "--sysfs", sysfs.path()}), 0);
  EXPECT_EQ(err_, "");
}

TEST_F(BindingCommands, ExclusionsAreAListForPeopleAndForPrograms) {
  EXPECT_EQ(type({"holds"}), 0);
  EXPECT_EQ(out_, "Nothing is excluded, and nothing is declared.\n");
  EXPECT_EQ(type({"holds", "-o", "json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_),
            nlohmann::json::parse(R"({"version": 1, "exclusions": [], "declared": []})"));
  const std::vector<Exclusion> exclusions{{placeOf("0000:01:00.0"), "fan\x1b dies", 1'700'000'000}};
  const std::vector<DeviceIdentity> declared{{placeOf("0000:02:00.0"), 0x10de, 0x2684}};
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(keptText(exclusions, declared, 1'800'000'000, false),
            "DEVICE        MARK      SINCE             REASON\n"
            "0000:01:00.0  excluded  2023-11-14 22:13  fan? dies\n"
            "0000:02:00.0  declared                    bound at start while it is 10de:2684\n");
  EXPECT_EQ(keptJson(exclusions, declared), nlohmann::ordered_json::parse(R"({"version": 1,
    "exclusions": [{"address": "0000:01:00.0", "since": "2023-11-14T22:13:20Z",
               "reason": "fan\u001b dies"}],
    "declared": [{"address": "0000:02:00.0", "vendor": "10de", "device": "2684"}]})"));
}

}  // namespace
}  // namespace vfiogate
