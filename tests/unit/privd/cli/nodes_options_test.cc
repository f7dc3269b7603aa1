#include "privd/cli/base/table_options.h"

#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/cli/binding/local_binding_service.h"
#include "privd/cli/commands.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

using Words = std::vector<std::string>;

struct Row {
  const char* what;
  Words given;
  bool reads;
  bool looks = false;
};

TEST(NodesOptions, AreReadByCommandsThatNameNoPlaceOfTheirOwn) {
  const std::vector<Row> rows{
      {"looking", {"list"}, true, true},
      {"with an option", {"list", "-o", "json"}, true, true},
      {"one device", {"show", "65:00.0"}, true, true},
      {"watching", {"watch", "--rescan", "1"}, true, true},
      {"the report", {"doctor"}, true, true},
      {"names are no place", {"list", "--pci-ids", "/x"}, true, true},
      {"another sysfs", {"list", "--sysfs", "/sys"}, false},
      {"another sysfs, in one word", {"doctor", "--sysfs=/sys"}, false},
      {"another /dev", {"watch", "--dev", "/dev"}, false},
      {"another file", {"show", "--options", "/x", "65:00.0"}, false},
      {"changing", {"bind", "65:00.0"}, true},
      {"changing another sysfs", {"bind", "65:00.0", "--sysfs", "/x"}, true},
      {"another state", {"hold", "65:00.0", "--state-dir=/x"}, false},
      {"the live view", {"top", "--once"}, true, true},
      {"what asks neither", {"audit", "verify"}, false},
      {"a help", {"--help"}, false},
      {"nothing", {}, false},
  };
  for (const Row& row : rows) {
    Words wanted = row.given;
    if (row.reads) {
      wanted.insert(wanted.begin() + 1, {"--options", "/etc/x.conf"});
      if (row.looks) {
        wanted.insert(wanted.begin() + 1,
                      {"--state-dir", kMachinesState, "--record-dir", kMachinesRecord});
      }
    }
    EXPECT_EQ(withNodesOptions(row.given, "/etc/x.conf"), wanted) << row.what;
  }
}

// A machine without such a file has exclusions all the same.
TEST(NodesOptions, WithoutAFileLookingKnowsTheMachinesExclusions) {
  EXPECT_EQ(withNodesOptions({"list"}, ""),
            (Words{"list", "--state-dir", kMachinesState, "--record-dir", kMachinesRecord}));
  EXPECT_EQ(withNodesOptions({"list", "--sysfs", "/x"}, ""), (Words{"list", "--sysfs", "/x"}));
  EXPECT_EQ(withNodesOptions({"bind", "65:00.0"}, ""), (Words{"bind", "65:00.0"}));
}

/// What `command` takes of a file with these lines, or what is wrong with them.
std::string takenOf(const std::string& command, const std::string& text) {
  CLI::App app;
  int exitCode = 0;
  addCommands(app, exitCode, {makeLocalBindingService, makeLocalKeepService});
  TempDir dir;
  const std::string file = dir / "privd.conf";
  std::ofstream(file) << text;
  const auto taken = expandOptionFiles({command, "--options", file, "-v"}, app, command);
  if (!taken) return taken.error().substr(taken.error().find("privd.conf"));
  std::string words;
  for (const std::string& each : *taken) words += (words.empty() ? "" : " ") + each;
  return words;
}

TEST(NodesOptions, ACommandTakesItsOwnAndPassesOverTheDaemons) {
  const std::vector<std::array<const char*, 3>> rows{
      {"list", "sysfs /s\ndev=/d\ndeny 10de:\n", "list --sysfs=/s --dev=/d -v"},
      {"show", "rescan 0\nsysfs /s\n", "show --sysfs=/s -v"},
      {"watch", "rescan 5\ndeny 10de:\n", "watch --rescan=5 -v"},
      {"doctor", "kubelet-dir /k\nsysfs /s\nallow x\n", "doctor --kubelet-dir=/k --sysfs=/s -v"},
  };
  for (const auto& [command, text, taken] : rows) {
    EXPECT_EQ(takenOf(command, text), taken) << command;
  }
}

TEST(NodesOptions, WhatIsWrongInAFileIsNamedByItsLine) {
  EXPECT_EQ(takenOf("list", "# mine\n\nsysf /s\n"),
            "privd.conf:3: 'sysf' is no option of privd list: did you mean 'sysfs'?");
  EXPECT_EQ(takenOf("bind", "allow vendor=nvidia\n").substr(0, 22), "privd.conf:1: --allow:");
  EXPECT_EQ(takenOf("bind", "rescann 5\n"),
            "privd.conf:1: 'rescann' is no option of privd bind: did you mean 'rescan'?");
}

TEST(NodesOptions, TheDaemonsAreLookedThroughForSlips) {
  TempDir dir;
  const std::string file = dir / "privd.conf";
  std::ofstream(file) << "sysfs /s\nplugnid /x\n";
  EXPECT_EQ(mistypedServeOption({"--options", file}),
            file + ":2: 'plugnid' is no option of privd serve: did you mean 'plugind'?");
  EXPECT_EQ(mistypedServeOption({"--rescna=4"}),
            "'--rescna' is no option of privd serve: did you mean '--rescan'?");
  std::ofstream(file, std::ios::trunc) << "rescan 0\n";
  EXPECT_EQ(mistypedServeOption({"--options", file, "--uevents", "on"}), "")
      << "values are the daemon's";
}

// An options file stands before what the command line says, which wins.
TEST(NodesOptions, ALaterOptionWins) {
  for (const Words& line : std::vector<Words>{
           {"list", "--pci-ids", "/a", "--pci-ids", "/b", "--sysfs", "/no", "--sysfs", "/none"},
           {"watch", "--rescan", "1", "--rescan", "2", "--sysfs", "/no", "--sysfs", "/none"},
           {"doctor", "--sysfs", "/no", "--sysfs", "/none", "--proc", "/no", "--proc", "/none"}}) {
    CLI::App app;
    int exitCode = 0;
    addCommands(app, exitCode, {makeLocalBindingService, makeLocalKeepService});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_NO_THROW(app.parse(Words(line.rbegin(), line.rend()))) << line.front();
    const std::string said =
        testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("/none"), std::string::npos) << line.front() << ": " << said;
    EXPECT_EQ(said.find("/no/"), std::string::npos) << line.front() << ": " << said;
  }
}

}  // namespace
}  // namespace vfiogate
