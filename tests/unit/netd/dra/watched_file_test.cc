#include "netd/dra/api/watched_file.h"

#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

using testing::HasSubstr;

class WatchedFileTest : public testing::Test {
protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
  }
  /// As the kubelet does it with a projected volume.
  void pointTo(const std::string& name) {
    std::filesystem::create_symlink(name, dir_ / "new");
    std::filesystem::rename(dir_ / "new", dir_ / "file");
  }

  /// The text, or why there is none.
  std::string said() {
    const auto text = file_.text();
    return text ? *text : text.error();
  }

  TempDir dir_;
  WatchedFile file_{dir_ / "file", 8};
};

TEST_F(WatchedFileTest, FollowsALinkThatIsTurned) {
  write("one", "1111");
  write("two", "2222");
  pointTo("one");
  EXPECT_EQ(said(), "1111");
  pointTo("two");
  EXPECT_EQ(said(), "2222");
}

TEST_F(WatchedFileTest, WhatItSaidLastStandsWhileItMakesNoSense) {
  EXPECT_THAT(said(), HasSubstr("No such file"));
  write("one", "1111");
  pointTo("one");
  EXPECT_EQ(said(), "1111");
  std::filesystem::remove(dir_ / "file");
  EXPECT_EQ(said(), "1111");
  for (const char* text : {"", "123456789"}) {
    write("two", text);
    pointTo("two");
    EXPECT_EQ(said(), "1111") << text;
  }
  write("three", "3");
  pointTo("three");
  EXPECT_EQ(said(), "3");
}

TEST_F(WatchedFileTest, SaysWhatIsWrongWithTheFirst) {
  write("file", "123456789");
  EXPECT_THAT(said(), HasSubstr("more than 8 bytes"));
  write("file", "");
  EXPECT_THAT(said(), HasSubstr("is empty"));
  std::filesystem::remove(dir_ / "file");
  ASSERT_EQ(mkfifo((dir_ / "file").c_str(), 0600), 0);
  EXPECT_THAT(said(), HasSubstr("is no file"));
}

}  // namespace
}  // namespace vfiogate
