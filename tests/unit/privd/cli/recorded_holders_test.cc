#include "privd/cli/base/recorded_holders.h"

#include "privd/state/allocation_text.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <fstream>

namespace vfiogate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const Bdf kCard = *Bdf::parse("0000:01:00.0");
const Bdf kSound = *Bdf::parse("0000:01:00.1");

TEST(HolderInNote, NamesThePodOrTheClaimOrTheReference) {
  const struct {
    const char* note;
    RecordedHolder holder;
  } kRows[] = {
      {"resource=a.dev/gpu ids=0000:01:00.0 ref=7f3a since=2026-11-23T10:42:07Z named-by=1:2 "
       "pod=default/vm uid=6f0c",
       {"default/vm", "a.dev/gpu", "2026-11-23T10:42:07Z"}},
      {"resource=a.dev/gpu ids=0000:01:00.0 ref=7f3a since=2026-11-23T10:42:07Z claim=ns/c",
       {"claim ns/c", "a.dev/gpu", "2026-11-23T10:42:07Z"}},
      {"resource=a.dev/gpu ref=7f3a since=2026-11-23T10:42:07Z",
       {"a pod not named yet, ref=7f3a", "a.dev/gpu", "2026-11-23T10:42:07Z"}},
      // The later of two stands; its predecessor may not be gone.
      {"ref=1 since=2026-11-23T10:00:00Z pod=a/old\nref=2 since=2026-11-23T11:00:00Z pod=a/new",
       {"a/new", "", "2026-11-23T11:00:00Z"}},
      {"ref=2 since=2026-11-23T11:00:00Z pod=a/new\nref=1 since=2026-11-23T10:00:00Z pod=a/old",
       {"a/new", "", "2026-11-23T11:00:00Z"}},
      {"", {"unknown: its record makes no sense", "", ""}},
  };
  for (const auto& row : kRows) EXPECT_EQ(holderInNote(row.note), row.holder) << row.note;
}

class RecordedHoldersTest : public testing::Test {
protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name) << text;
  }
  RecordedHolders read() const { return readRecordedHolders(directory_.path().string()); }
  static std::string thisBoot() {
    std::string id;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
    return id;
  }

  TempDir directory_;
};

TEST_F(RecordedHoldersTest, AreThoseOfThisBoot) {
  const AllocatedGroup group{{kCard, kSound}, "ref=1 pod=default/vm"};
  write(kCard.str(), allocationText(thisBoot(), group));
  write(kSound.str(), allocationText("another-boot", group));
  write("0000:02:00.0", "");
  write("complete", thisBoot());
  const Uuid part = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  write(part.str(), allocationText(thisBoot(), {{part}, "ref=2 pod=default/cut"}));
  const auto devices = read().devices;
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices.at(kCard).who, "default/vm");
  EXPECT_EQ(devices.at(part).who, "default/cut");
}

TEST_F(RecordedHoldersTest, AreUnknownWhereTheFileMakesNoSense) {
  write(kCard.str(), "torn");
  write(kSound.str(), allocationText(thisBoot(), {{kCard}, "ref=1 pod=default/vm"}));
  for (const auto& [address, holder] : read().devices) {
    EXPECT_THAT(holder.who, HasSubstr("unknown"));
  }
  EXPECT_EQ(read().devices.size(), 2U);
}

TEST(RecordedHolders, AreNoneWithoutARecordWhichIsNotMade) {
  const TempDir directory;
  const auto record = readRecordedHolders((directory.path() / "none").string());
  EXPECT_THAT(record.devices, IsEmpty());
  EXPECT_EQ(record.problem, "");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "none"));
}

TEST(RecordedHolders, SayWhyTheyCannotBeRead) {
  const TempDir directory;
  std::ofstream(directory.path() / "file") << "x";
  const auto record = readRecordedHolders((directory.path() / "file").string());
  EXPECT_THAT(record.problem, HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace vfiogate
