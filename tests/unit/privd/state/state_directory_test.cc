#include "privd/state/state_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/base/temp_dir.h"
#include "tests/support/small_disk.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

Bdf at(const char* address) {
  return Bdf::parse(address).value();
}

BoundDevice card(const char* address = "0000:01:00.0") {
  return {.device = {at(address), 0x10de, 0x2684},
          .driver = "vfio-pci",
          .formerDriver = "nvidia",
          .formerOverride = "",
          .bootId = "6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d55",
          .purpose = BoundFor::kAllocation};
}

Exclusion exclusion(const char* address = "0000:01:00.0") {
  return {.device = at(address), .reason = "fan dies; ticket 7 = Müller's", .since = 1'700'000'000};
}

class StateDirectoryTest : public testing::Test {
protected:
  ~StateDirectoryTest() noexcept override = default;

  StateDirectory open() const { return StateDirectory::open(dir_.path()).value(); }
  std::string text(const std::string& file) const {
    std::ostringstream all;
    all << std::ifstream(dir_ / file).rdbuf();
    return all.str();
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(dir_ / file).parent_path());
    std::ofstream(dir_ / file) << text;
  }
  mode_t modeOf(const std::string& file) const {
    struct stat status = {};
    EXPECT_EQ(lstat((dir_ / file).c_str(), &status), 0) << file;
    return status.st_mode & 07777U;
  }

  TempDir dir_;
};

TEST_F(StateDirectoryTest, IsThereAgainAfterARestart) {
  {
    StateDirectory state = open();
    ASSERT_TRUE(state.put(card()));
    ASSERT_TRUE(state.put(exclusion("0000:02:00.0")));
    ASSERT_TRUE(state.put(DeviceIdentity{at("0000:03:00.0"), 0x8086, 0x1572}));
  }
  const StateDirectory state = open();
  EXPECT_THAT(*state.bound(), ElementsAre(card()));
  EXPECT_THAT(*state.exclusions(), ElementsAre(exclusion("0000:02:00.0")));
  EXPECT_THAT(*state.declared(), ElementsAre(DeviceIdentity{at("0000:03:00.0"), 0x8086, 0x1572}));
  EXPECT_THAT(state.problems(), IsEmpty());
  ASSERT_TRUE(state.boundAt(at("0000:01:00.0")));
  EXPECT_EQ(*state.boundAt(at("0000:01:00.0")), card());
  EXPECT_FALSE(state.boundAt(at("0000:02:00.0")));
  EXPECT_TRUE(state.isExcluded(at("0000:02:00.0")));
  EXPECT_FALSE(state.isExcluded(at("0000:01:00.0")));
}

TEST_F(StateDirectoryTest, AMediatedDeviceIsExcludedByItsUuidAndNothingElseIsKeptOfIt) {
  const Uuid uuid = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  const Exclusion held{uuid, "broken", 1'700'000'000};
  write("declared/" + uuid.str(), "format=1\nvendor=10de\ndevice=2684\n");
  {
    StateDirectory state = open();
    ASSERT_TRUE(state.put(exclusion("0000:02:00.0")));
    ASSERT_TRUE(state.put(held));
  }
  StateDirectory state = open();
  EXPECT_THAT(*state.exclusions(), ElementsAre(exclusion("0000:02:00.0"), held));
  EXPECT_TRUE(state.isExcluded(uuid));
  EXPECT_THAT(*state.declared(), IsEmpty());
  EXPECT_THAT(state.problems(),
              ElementsAre("declared/" + uuid.str() + ": is named like no device"));
  write("holds/" + uuid.str(), "makes no sense");
  EXPECT_TRUE(state.isExcluded(uuid)) << "somebody wanted it";
  ASSERT_TRUE(state.dropExclusion(uuid));
  EXPECT_FALSE(state.isExcluded(uuid));
}

TEST_F(StateDirectoryTest, TwoThatHaveItOpenSeeEachOthersChangesAtOnce) {
  StateDirectory daemon = open();
  StateDirectory command = open();
  ASSERT_TRUE(command.put(exclusion()));
  EXPECT_TRUE(daemon.isExcluded(at("0000:01:00.0")));
  ASSERT_TRUE(daemon.put(card()));
  EXPECT_EQ(command.boundAt(at("0000:01:00.0")), card());
  ASSERT_TRUE(command.dropBound(at("0000:01:00.0")));
  EXPECT_FALSE(daemon.boundAt(at("0000:01:00.0")));
  ASSERT_TRUE(command.put(DeviceIdentity{at("0000:03:00.0"), 0x8086, 0x1572}));
  EXPECT_EQ(daemon.declaredAt(at("0000:03:00.0")),
            (DeviceIdentity{at("0000:03:00.0"), 0x8086, 0x1572}));
}

TEST_F(StateDirectoryTest, WhoeverKeepsAFolderLockedIsWaitedForASecondAndNothingChanges) {
  StateDirectory state = open();
  ASSERT_TRUE(state.put(exclusion("0000:02:00.0")));
  const kj::AutoCloseFd held(::open((dir_ / "holds").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_EQ(state.put(exclusion()).error().error, EWOULDBLOCK);
  EXPECT_EQ(state.dropExclusion(at("0000:02:00.0")).error().error, EWOULDBLOCK);
  EXPECT_FALSE(state.isExcluded(at("0000:01:00.0")));
  EXPECT_TRUE(state.isExcluded(at("0000:02:00.0"))) << "who only asks waits for nobody";
  EXPECT_TRUE(state.put(card())) << "of another folder";
  ASSERT_EQ(flock(held, LOCK_UN), 0);
  EXPECT_TRUE(state.put(exclusion()));
}

TEST_F(StateDirectoryTest, IsPlainLinesThatOnlyItsOwnerReads) {
  StateDirectory state = open();
  ASSERT_TRUE(state.put(card()));
  EXPECT_EQ(text("bindings/0000:01:00.0"),
            "format=1\nvendor=10de\ndevice=2684\ndriver=vfio-pci\nformer_driver=nvidia\n"
            "former_override=\nboot=6f0c2d3e-7d0c-4c40-9f6d-3f1f6f6b0d55\npurpose=allocation\n");
  EXPECT_EQ(modeOf("bindings/0000:01:00.0"), 0600U);
  for (const char* made : {"bindings", "holds", "declared"}) EXPECT_EQ(modeOf(made), 0700U) << made;
}

TEST_F(StateDirectoryTest, KeepsOneEntryAnAddressInOrder) {
  StateDirectory state = open();
  for (const char* address : {"0000:03:00.0", "0000:01:00.0", "0000:02:00.0", "0000:01:00.0"}) {
    ASSERT_TRUE(state.put(card(address)));
  }
  EXPECT_THAT(*state.bound(),
              ElementsAre(card("0000:01:00.0"), card("0000:02:00.0"), card("0000:03:00.0")));
  BoundDevice other = card("0000:02:00.0");
  other.formerDriver = "";
  ASSERT_TRUE(state.put(other));
  EXPECT_EQ(*state.boundAt(at("0000:02:00.0")), other);
  EXPECT_THAT(*open().bound(), ElementsAre(card("0000:01:00.0"), other, card("0000:03:00.0")));
}

TEST_F(StateDirectoryTest, DropsAsOftenAsItIsTold) {
  StateDirectory state = open();
  ASSERT_TRUE(state.put(card()));
  ASSERT_TRUE(state.put(exclusion()));
  ASSERT_TRUE(state.dropBound(at("0000:01:00.0")));
  ASSERT_TRUE(state.dropBound(at("0000:01:00.0")));
  EXPECT_THAT(*state.bound(), IsEmpty());
  EXPECT_THAT(*open().bound(), IsEmpty());
  EXPECT_THAT(*open().exclusions(), ElementsAre(exclusion()))
      << "of the same address, but another kind";
  ASSERT_TRUE(state.dropDeclared(at("0000:01:00.0")));
  ASSERT_TRUE(state.dropExclusion(at("0000:01:00.0")));
  EXPECT_FALSE(fs::exists(dir_ / "holds/0000:01:00.0"));
}

TEST_F(StateDirectoryTest, AFileThatMakesNoSenseIsNamedLeftAloneAndHidesNoOther) {
  ASSERT_TRUE(open().put(card("0000:02:00.0")));
  for (const std::string& spoilt :
       {std::string(), "format=2\n" + text("bindings/0000:02:00.0"), std::string(1 << 20, 'x')}) {
    write("bindings/0000:01:00.0", spoilt);
    const StateDirectory state = open();
    EXPECT_THAT(*state.bound(), ElementsAre(card("0000:02:00.0")));
    EXPECT_THAT(state.problems(), ElementsAre("bindings/0000:01:00.0: makes no sense"));
    EXPECT_EQ(text("bindings/0000:01:00.0"), spoilt);
  }
}

TEST_F(StateDirectoryTest, WhatIsNoFileOrNoDeviceIsNamedAndLeftAlone) {
  fs::create_directories(dir_ / "bindings/0000:01:00.0");
  write("victim", "format=1\nvendor=10de\ndevice=2684\n");
  fs::create_directories(dir_ / "declared");
  fs::create_symlink(dir_ / "victim", dir_ / "declared/0000:02:00.0");
  write("holds/README", "x");
  write("holds/0000:0A:00.0", "format=1\nsince=1\nreason=x\n");
  const StateDirectory state = open();
  EXPECT_THAT(state.problems(), ElementsAre("bindings/0000:01:00.0: cannot be read",
                                            "holds/0000:0A:00.0: is named like no device",
                                            "holds/README: is named like no device",
                                            "declared/0000:02:00.0: cannot be read"));
  EXPECT_THAT(*state.declared(), IsEmpty());
  EXPECT_TRUE(fs::exists(dir_ / "holds/README"));
}

TEST_F(StateDirectoryTest, AnExclusionWhoseFileMakesNoSenseHoldsUntilItIsReleased) {
  write("holds/0000:01:00.0", "format=1\nsince=soon\nreason=x\n");
  StateDirectory state = open();
  ASSERT_TRUE(state.isExcluded(at("0000:01:00.0")));
  EXPECT_THAT(state.problems(), ElementsAre("holds/0000:01:00.0: makes no sense"));
  ASSERT_TRUE(state.dropExclusion(at("0000:01:00.0")));
  EXPECT_FALSE(open().isExcluded(at("0000:01:00.0")));
}

TEST_F(StateDirectoryTest, RefusesTextsThatAreNoLine) {
  StateDirectory state = open();
  for (const std::string reason : {"two\nlines", "a\rreturn", "\x1b[31mred", "a\x7f", "a\ttab"}) {
    Exclusion bad = exclusion();
    bad.reason = reason;
    const auto put = state.put(bad);
    ASSERT_FALSE(put) << reason;
    EXPECT_EQ(put.error().error, EINVAL);
    EXPECT_EQ(put.error().file, "holds/0000:01:00.0");
  }
  Exclusion longest = exclusion();
  longest.reason = std::string(200, 'x');
  EXPECT_TRUE(state.put(longest));
  longest.reason += "x";
  EXPECT_FALSE(state.put(longest));
  BoundDevice injected = card();
  injected.formerOverride = "x\npurpose=hand";
  EXPECT_FALSE(state.put(injected));
  EXPECT_FALSE(fs::exists(dir_ / "bindings/0000:01:00.0"));
}

TEST_F(StateDirectoryTest, WhatCannotBeListedIsNotEmpty) {
  StateDirectory state = open();
  ASSERT_TRUE(state.put(exclusion()));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto listed = state.exclusions();
  const bool isExcluded = state.isExcluded(at("0000:02:00.0"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().str(), "holds: Too many open files");
  EXPECT_TRUE(isExcluded);
}

TEST_F(StateDirectoryTest, AFullDiskChangesNothingOnIt) {
  const test::SmallDisk disk(dir_ / "small");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
  StateDirectory state = StateDirectory::open(dir_ / "small").value();
  ASSERT_TRUE(state.put(card()));
  disk.fill();
  BoundDevice other = card();
  other.formerDriver = "nouveau";
  const auto replaced = state.put(other);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().error, ENOSPC);
  EXPECT_FALSE(state.put(exclusion()));
  EXPECT_THAT(*state.bound(), ElementsAre(card()));
  EXPECT_THAT(*state.exclusions(), IsEmpty());
  const auto again = StateDirectory::open(dir_ / "small");
  ASSERT_TRUE(again);
  EXPECT_THAT(*again->bound(), ElementsAre(card()));
  EXPECT_THAT(again->problems(), IsEmpty()) << "nothing half written is left";
  EXPECT_TRUE(state.dropBound(at("0000:01:00.0"))) << "taking away needs no room";
  disk.empty();
  EXPECT_TRUE(state.put(other));
}

TEST_F(StateDirectoryTest, ADiskThatCannotBeWrittenKeepsWhatIsDropped) {
  const test::SmallDisk disk(dir_ / "small");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
  StateDirectory state = StateDirectory::open(dir_ / "small").value();
  ASSERT_TRUE(state.put(exclusion()));
  ASSERT_TRUE(disk.setReadOnly());
  const auto dropped = state.dropExclusion(at("0000:01:00.0"));
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().error, EROFS);
  EXPECT_TRUE(state.isExcluded(at("0000:01:00.0")));
}

TEST_F(StateDirectoryTest, ACrashWhileWritingLeavesTheOldOrTheNew) {
  ASSERT_TRUE(open().put(card()));
  const std::string before = text("bindings/0000:01:00.0");
  for (std::size_t written = 0; written <= before.size(); written += 7) {
    write("bindings/.0000:01:00.0", before.substr(0, written));
    const StateDirectory state = open();
    EXPECT_THAT(*state.bound(), ElementsAre(card())) << written;
    EXPECT_THAT(state.problems(), IsEmpty()) << written;
    EXPECT_FALSE(fs::exists(dir_ / "bindings/.0000:01:00.0")) << written;
  }
  BoundDevice other = card();
  other.formerDriver = "nouveau";
  StateDirectory state = open();
  write("bindings/.0000:01:00.0", "left over by whoever came between");
  ASSERT_TRUE(state.put(other));
  EXPECT_THAT(*open().bound(), ElementsAre(other));
}

TEST_F(StateDirectoryTest, TenThousandFilesAreRefusedInAWord) {
  ASSERT_TRUE(open().put(exclusion()));
  for (int i = 0; i < 10'000; ++i) {
    write("holds/x" + std::to_string(i), "");
  }
  const auto opened = StateDirectory::open(dir_.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().error, EOVERFLOW);
  EXPECT_EQ(opened.error().file, "holds");
}

TEST_F(StateDirectoryTest, FourThousandAreTheMostThatItTakes) {
  open();
  for (unsigned i = 0; i < 4096; ++i) {
    const Bdf address = Bdf::make(i, 0, 0, 0).value();
    write("declared/" + address.str(), "format=1\nvendor=10de\ndevice=2684\n");
  }
  StateDirectory state = open();
  ASSERT_EQ(state.declared()->size(), 4096U);
  const DeviceIdentity fresh{at("ffff:00:00.0"), 1, 2};
  const auto put = state.put(fresh);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().error, EOVERFLOW);
  EXPECT_TRUE(state.put(DeviceIdentity{at("0000:00:00.0"), 1, 2})) << "one of those may change";
  ASSERT_TRUE(state.dropDeclared(at("0000:00:00.0")));
  EXPECT_TRUE(state.put(fresh));
}

TEST_F(StateDirectoryTest, NeedsADirectoryThatIsThere) {
  EXPECT_EQ(StateDirectory::open(dir_ / "no").error().error, ENOENT);
  write("file", "");
  EXPECT_EQ(StateDirectory::open(dir_ / "file").error().error, ENOTDIR);
  fs::create_directory(dir_ / "elsewhere");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "holds");
  const auto linked = StateDirectory::open(dir_.path());
  ASSERT_FALSE(linked) << "a link in a directory's place";
  EXPECT_EQ(linked.error().file, "holds");
}

}  // namespace
}  // namespace vfiogate
