// plugind's commands that end by themselves: what they say and their exit codes.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

/// Runs plugind to its end; the exit code and what it said.
std::pair<int, std::string> run(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{builtProgram("plugind")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildProcess process(command, filteredEnvironment());
  const std::string said = process.outputWhole();
  return {process.wait(), said};
}

TEST(PlugindCommands, CheckConfigTellsByItsExitCode) {
  const TempDir directory;
  std::ofstream(directory / "good.yaml")
      << "resources:\n  - select: {vendor: \"10de\"}\ngrace: 3600s\n";
  std::ofstream(directory / "bad.yaml") << "resources:\n  - select: {vendor: 10de}\nnonsense: 1\n";
  const auto good = run({"--check-config", "--config", directory / "good.yaml"});
  EXPECT_EQ(good.first, 0);
  EXPECT_THAT(good.second, HasSubstr("grace: 3600s"));
  const auto bad = run({"--check-config", "--config", directory / "bad.yaml"});
  EXPECT_EQ(bad.first, 1);
  EXPECT_THAT(bad.second, HasSubstr("bad.yaml:3: unknown key \"nonsense\""));
  EXPECT_EQ(run({"--config", directory / "bad.yaml"}).first, 1) << "and it does not serve with it";
}

TEST(PlugindCommands, ASocketThatCannotBeMadeNamesTheDirectory) {
  const auto ended = run({"--listen", "/nonexistent/plugind.sock"});
  EXPECT_EQ(ended.first, 1);
  EXPECT_THAT(ended.second, HasSubstr("the directory /nonexistent must be there"));
}

TEST(PlugindCommands, PolicyIsTheTableThatItLoads) {
  const auto policy = run({"policy"});
  EXPECT_EQ(policy.first, 0);
  EXPECT_THAT(policy.second, HasSubstr("accept4"));
  EXPECT_EQ(run({"policy", "-o", "xml"}).first, 2);
  EXPECT_EQ(run({"fragment"}).first, 2);
}

}  // namespace
}  // namespace vfiogate::test
