#include "plugind/config/config.h"

#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace vfiogate {
namespace {

using testing::HasSubstr;

TEST(ConfigFile, WithoutAFileEveryKeyIsAtItsDefault) {
  const auto config = readConfigFile("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->settings, Settings{});
}

TEST(ConfigFile, ReadsAFile) {
  const TempDir directory;
  std::ofstream(directory / "c.yaml") << "grace: 5s\n";
  const auto config = readConfigFile(directory / "c.yaml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->settings.grace, std::chrono::seconds(5));
}

TEST(ConfigFile, NamesAFileThatIsNotThere) {
  const auto config = readConfigFile("/nonexistent/c.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().front().str(),
            "/nonexistent/c.yaml: cannot be opened: No such file or directory");
}

TEST(ConfigFile, RefusesADirectory) {
  const TempDir directory;
  const auto config = readConfigFile(directory.path().string());
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().front().str(), HasSubstr("Is a directory"));
}

TEST(ConfigFile, RefusesAHugeFileUnparsed) {
  const TempDir directory;
  std::ofstream(directory / "c.yaml") << std::string(kMaxConfigBytes + 1, '#');
  const auto config = readConfigFile(directory / "c.yaml");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().front().str(), HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace vfiogate
