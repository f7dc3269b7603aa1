#include "privd/cli/base/node_view.h"

#include "privd/state/state_directory.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <fstream>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Bdf kHeldOne = *Bdf::parse("0000:01:00.0");
const Bdf kHeldTwo = *Bdf::parse("0000:02:00.0");

TEST(ExcludedDevices, AreThoseThatAHoldPutThere) {
  TempDir state;
  auto opened = StateDirectory::open(state.path().string());
  ASSERT_TRUE(opened);
  StateDirectory directory = std::move(opened).value();
  ASSERT_TRUE(directory.put(Exclusion{kHeldOne, "fan", 1}));
  std::ofstream(state / "holds/0000:02:00.0") << "makes no sense";
  std::ofstream(state / "holds/.lock") << "";
  const Uuid part = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  ASSERT_TRUE(directory.put(Exclusion{part, "broken", 1}));
  const ExcludedDevices excluded = readExcluded(state.path().string());
  EXPECT_THAT(excluded.devices, ElementsAre(kHeldOne, kHeldTwo, part));
  EXPECT_EQ(excluded.problem, "");
}

TEST(ExcludedDevices, AreNoneWhereNothingWasEverExcluded) {
  TempDir state;
  for (const std::string& none : {std::string(), state.path().string(), state / "missing"}) {
    const ExcludedDevices excluded = readExcluded(none);
    EXPECT_THAT(excluded.devices, IsEmpty());
    EXPECT_EQ(excluded.problem, "");
  }
}

TEST(ExcludedDevices, WhatCannotBeListedIsNotKnown) {
  TempDir state;
  std::ofstream(state / "holds") << "no folder";
  EXPECT_THAT(readExcluded(state.path().string()).problem, HasSubstr("holds: Not a directory"));
}

TEST(ExcludedDevices, ExcludeTheirGroups) {
  Snapshot snapshot;
  const IommuGroupId first(1);
  const IommuGroupId second(2);
  snapshot.groups.emplace(first, IommuGroup{.id = first, .members = {kHeldOne}});
  snapshot.groups.emplace(second, IommuGroup{.id = second, .members = {kHeldTwo}});
  const Uuid part = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  const IommuGroupId third(3);
  snapshot.groups.emplace(third, IommuGroup{.id = third, .mediated = {part}});
  markExcluded(snapshot, {{kHeldOne}, {}});
  EXPECT_TRUE(snapshot.groups.at(first).binding.excluded);
  EXPECT_FALSE(snapshot.groups.at(second).binding.excluded);
  EXPECT_FALSE(snapshot.groups.at(third).binding.excluded);
  markExcluded(snapshot, {{part}, {}});
  EXPECT_TRUE(snapshot.groups.at(third).binding.excluded) << "a mediated device's";
  EXPECT_FALSE(snapshot.groups.at(first).binding.excluded);
}

}  // namespace
}  // namespace vfiogate
