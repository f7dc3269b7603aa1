#include "privd/cdi/cdi_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

class CdiDirectoryTest : public testing::Test {
protected:
  ~CdiDirectoryTest() noexcept override = default;

  std::string text(const std::string& name) {
    std::ostringstream all;
    all << std::ifstream(dir_ / name).rdbuf();
    return all.str();
  }
  ino_t inode(const std::string& name) {
    struct stat status = {};
    EXPECT_EQ(lstat((dir_ / name).c_str(), &status), 0) << name;
    return status.st_ino;
  }

  TempDir dir_;
  CdiDirectory directory_ = CdiDirectory::open(dir_.path()).value();
};

TEST_F(CdiDirectoryTest, WritesANewFileAndLeavesNothingElse) {
  const auto put = directory_.put("a.json", "{}");
  ASSERT_TRUE(put);
  EXPECT_TRUE(*put);
  EXPECT_EQ(text("a.json"), "{}");
  EXPECT_THAT(*directory_.names(), UnorderedElementsAre("a.json"));
  EXPECT_TRUE(directory_.sync());
}

TEST_F(CdiDirectoryTest, DoesNotWriteAgainWhatIsThere) {
  ASSERT_TRUE(directory_.put("a.json", "{}"));
  const ino_t before = inode("a.json");
  const auto again = directory_.put("a.json", "{}");
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);
  EXPECT_EQ(inode("a.json"), before);
}

TEST_F(CdiDirectoryTest, ReplacesAFileWholeSoThatAReaderSeesTheOldOneOrTheNew) {
  ASSERT_TRUE(directory_.put("a.json", "{\"old\": 1}"));
  std::ifstream reader(dir_ / "a.json");
  ASSERT_TRUE(directory_.put("a.json", "{\"new\": 1}"));
  std::ostringstream read;
  read << reader.rdbuf();
  EXPECT_EQ(read.str(), "{\"old\": 1}");
  EXPECT_EQ(text("a.json"), "{\"new\": 1}");
}

TEST_F(CdiDirectoryTest, MendsAFileThatSomebodyChanged) {
  ASSERT_TRUE(directory_.put("a.json", "{}"));
  std::ofstream(dir_ / "a.json") << "[]";
  EXPECT_TRUE(*directory_.put("a.json", "{}"));
  EXPECT_EQ(text("a.json"), "{}");
}

TEST_F(CdiDirectoryTest, FollowsNobodysLinks) {
  std::ofstream(dir_ / "victim") << "mine";
  fs::create_symlink(dir_ / "victim", dir_ / "a.json");
  fs::create_symlink(dir_ / "victim", dir_ / ".a.json.tmp");
  EXPECT_TRUE(*directory_.put("a.json", "mine")) << "a link to the same text is not the file";
  EXPECT_TRUE(*directory_.put("a.json", "{}"));
  EXPECT_EQ(text("victim"), "mine");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(dir_ / "a.json")));
  EXPECT_FALSE(fs::exists(fs::symlink_status(dir_ / ".a.json.tmp")));
}

TEST_F(CdiDirectoryTest, ReplacesAPipeWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo((dir_ / "a.json").c_str(), 0600), 0);
  EXPECT_TRUE(*directory_.put("a.json", "{}"));
  EXPECT_EQ(text("a.json"), "{}");
}

TEST_F(CdiDirectoryTest, WhatCannotBeWrittenIsAnErrnoAndLeavesNothingHalf) {
  fs::create_directory(dir_ / "a.json");
  const auto put = directory_.put("a.json", "{}");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().error, EISDIR);
  EXPECT_THAT(*directory_.names(), UnorderedElementsAre("a.json"));
}

TEST_F(CdiDirectoryTest, RemovesAFileOnce) {
  ASSERT_TRUE(directory_.put("a.json", "{}"));
  EXPECT_TRUE(*directory_.remove("a.json"));
  EXPECT_FALSE(*directory_.remove("a.json"));
  EXPECT_FALSE(fs::exists(dir_ / "a.json"));
}

TEST_F(CdiDirectoryTest, IsMadeWhereItIsMissing) {
  EXPECT_EQ(CdiDirectory::open(dir_ / "cdi").error().error, ENOENT);
  ASSERT_TRUE(CdiDirectory::make(dir_ / "cdi"));
  ASSERT_TRUE(CdiDirectory::make(dir_ / "cdi"));
  EXPECT_TRUE(CdiDirectory::open(dir_ / "cdi"));
  EXPECT_EQ(CdiDirectory::make(dir_ / "no/cdi").error().error, ENOENT);
}

}  // namespace
}  // namespace vfiogate
