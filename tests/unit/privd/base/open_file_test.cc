// What tells one file from the next under the same name.

#include "privd/base/open_file.h"

#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

TEST(FileIdentity, TellsOneFileFromTheNext) {
  const TempDir directory;
  const std::string path = directory / "file";
  EXPECT_FALSE(identityAt(path.c_str()));
  std::ofstream(path) << "one";
  const auto first = identityAt(path.c_str());
  ASSERT_TRUE(first);
  EXPECT_EQ(identityAt(path.c_str()), first);
  std::ofstream(directory / "new") << "two";
  std::filesystem::rename(directory / "new", path);
  EXPECT_NE(identityAt(path.c_str()), first);
}

// As one that is read while it is unlinked: its change time is that of the unlink.
TEST(FileIdentity, WhatHasNoNameAnyMoreIsNotThere) {
  const TempDir directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directory(directory / "gone");
  std::filesystem::current_path(directory / "gone");
  EXPECT_TRUE(identityAt("."));
  std::filesystem::remove(directory / "gone");
  EXPECT_FALSE(identityAt("."));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace vfiogate
