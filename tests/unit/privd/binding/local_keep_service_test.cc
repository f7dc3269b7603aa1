// hold, release, holds and forget on real directories: nothing is opened but what they are about.

#include "privd/cli/binding/local_binding_service.h"

#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Bdf kCard = Bdf::parse("0000:01:00.0").value();
const AuditPeer kRoot{};

class LocalKeepServiceTest : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    options_.sysfs = options_.dev = "/nowhere";
    options_.stateDir = place_ / "state";
    options_.binding.auditLog = place_ / "log/audit.jsonl";
    fs::create_directory(place_ / "log");
  }

  Result<Done, std::string> hold() {
    testing::internal::CaptureStderr();
    auto service = makeLocalKeepService(options_).value();
    auto done = service->exclude(kCard, "fan", kRoot);
    said_ = testing::internal::GetCapturedStderr();
    return done;
  }
  std::vector<Exclusion> holds() {
    return makeLocalKeepService(options_).value()->exclusions().value();
  }
  std::string audit() {
    std::ifstream file(options_.binding.auditLog);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir place_;
  LocalBindingOptions options_;
  std::string said_;
};

TEST_F(LocalKeepServiceTest, ExcludesWithoutSysfsAndMakesNoOtherFolder) {
  ASSERT_TRUE(hold());
  EXPECT_THAT(holds(), SizeIs(1));
  EXPECT_TRUE(fs::exists(place_ / "state/holds/0000:01:00.0"));
  EXPECT_FALSE(fs::exists(place_ / "state/bindings"));
  EXPECT_FALSE(fs::exists(place_ / "state/declared"));
  EXPECT_THAT(audit(), HasSubstr("hold"));
  auto service = makeLocalKeepService(options_).value();
  EXPECT_TRUE(service->release(kCard, kRoot));
  EXPECT_THAT(holds(), IsEmpty());
}

TEST_F(LocalKeepServiceTest, WithoutAnAuditLogItIsDoneAndSaysSo) {
  fs::remove(place_ / "log");
  options_.binding.auditLog = place_ / "no/such/audit.jsonl";
  ASSERT_TRUE(hold());
  EXPECT_THAT(said_, HasSubstr("done, but the audit log cannot be written"));
  EXPECT_THAT(holds(), SizeIs(1));
}

TEST_F(LocalKeepServiceTest, WhatIsNoLogRefusesIt) {
  std::ofstream(options_.binding.auditLog) << "dear diary\n";
  const auto done = hold();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error(), HasSubstr("--audit-log"));
  EXPECT_THAT(holds(), IsEmpty());
}

TEST_F(LocalKeepServiceTest, ForgetsWhatIsDeclaredThere) {
  ASSERT_TRUE(StateDirectory::openOnly(place_ / "state", StateKind::kDeclared).error().error ==
              ENOENT);
  fs::create_directory(place_ / "state");
  auto state = StateDirectory::openOnly(place_ / "state", StateKind::kDeclared).value();
  ASSERT_TRUE(state.put(DeviceIdentity{kCard, 0x10de, 0x2684}));
  auto service = makeLocalKeepService(options_).value();
  EXPECT_THAT(service->declared().value(), SizeIs(1));
  EXPECT_TRUE(service->forget(kCard, kRoot));
  EXPECT_THAT(service->declared().value(), IsEmpty());
}

}  // namespace
}  // namespace vfiogate::test
