// What comes into directories, and directories that come and go.

#include "privd/gate/directory_watch.h"

#include "sim/base/temp_dir.h"
#include "tests/support/no_inotify_left.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

class DirectoryWatchTest : public testing::Test {
protected:
  DirectoryWatchTest() {
    for (const char* name : {"a", "b"}) fs::create_directory(dir_ / name);
    watch_.emplace(std::vector<std::string>{dir_ / "a", dir_ / "b"});
  }
  ~DirectoryWatchTest() noexcept override = default;

  void write(const std::string& name) { std::ofstream(dir_ / name) << "text"; }

  TempDir dir_;
  std::optional<DirectoryWatch> watch_;
};

TEST_F(DirectoryWatchTest, TellsOnceOfWhatCameInOneOfThem) {
  EXPECT_FALSE(watch_->drain());
  write("b/file");
  EXPECT_TRUE(watch_->drain());
  EXPECT_FALSE(watch_->drain());
}

TEST_F(DirectoryWatchTest, TellsOfEditsRenamesAndRemovals) {
  write("a/file");
  watch_->drain();
  write("a/file");
  EXPECT_TRUE(watch_->drain());
  write("elsewhere");
  EXPECT_FALSE(watch_->drain());
  fs::rename(dir_ / "elsewhere", dir_ / "a/file");
  EXPECT_TRUE(watch_->drain());
  fs::remove(dir_ / "a/file");
  EXPECT_TRUE(watch_->drain());
}

TEST_F(DirectoryWatchTest, ReadsNoMoreAtOnceHoweverMuchHappens) {
  write("a/one");
  watch_->drain();
  for (int i = 0; i < 5000; ++i) {
    fs::rename(dir_ / "a/one", dir_ / "a/two");
    fs::rename(dir_ / "a/two", dir_ / "a/one");
  }
  EXPECT_TRUE(watch_->drain());
  EXPECT_TRUE(watch_->drain()) << "the rest of it";
  EXPECT_FALSE(watch_->drain());
}

TEST_F(DirectoryWatchTest, LooksForOneThatIsMissing) {
  DirectoryWatch watch({dir_ / "a", dir_ / "late"});
  EXPECT_FALSE(watch.retry());
  fs::create_directory(dir_ / "late");
  EXPECT_TRUE(watch.retry());
  write("late/file");
  EXPECT_TRUE(watch.drain());
}

TEST_F(DirectoryWatchTest, LooksForOneThatWasRemovedOrRenamedAway) {
  fs::remove(dir_ / "a");
  EXPECT_TRUE(watch_->drain());
  fs::create_directory(dir_ / "a");
  EXPECT_TRUE(watch_->retry());
  fs::rename(dir_ / "b", dir_ / "was");
  EXPECT_TRUE(watch_->drain());
  fs::create_directory(dir_ / "b");
  EXPECT_TRUE(watch_->retry());
  watch_->drain();
  write("was/file");
  EXPECT_FALSE(watch_->drain()) << "that is another one now";
  for (const char* name : {"a/file", "b/file"}) {
    write(name);
    EXPECT_TRUE(watch_->drain()) << name;
  }
}

// What a root container of the same user namespace takes counts as the gate's own.
TEST_F(DirectoryWatchTest, WhereNoInotifyIsLeftEachLookIsAChange) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const NoInotifyLeft usedUp;
  testing::internal::CaptureStderr();
  DirectoryWatch watch({dir_ / "a", dir_ / "b"});
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::AllOf(testing::HasSubstr("event=directory_unwatched directory=" + (dir_ / "a")),
                     testing::HasSubstr("event=directory_unwatched directory=" + (dir_ / "b"))));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(watch.retry());
    EXPECT_FALSE(watch.drain());
  }
}

}  // namespace
}  // namespace vfiogate::test
