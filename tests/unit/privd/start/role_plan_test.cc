// Which of privd's processes are started, and what each is told.

#include "privd/start/role_plan.h"

#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vfiogate {
namespace {

std::string rolesOf(const std::vector<GivenOption>& given, OnFile onFile) {
  std::string names;
  for (const RolePlan& plan : rolesToStart(given, onFile)) {
    names += (names.empty() ? "" : " ") + std::string(nameOf(plan.role));
  }
  return names;
}

struct Row {
  const char* name;
  std::vector<GivenOption> given;
  OnFile onFile;
  const char* roles;
};

TEST(RolesToStart, AreThoseThatThereIsWorkFor) {
  const GivenOption socket{"--plugind", "/run/x.sock"};
  const GivenOption declared{"--declare", "10de:2236"};
  const auto rights = [](const char* words) { return GivenOption{"--plugind-rights", words}; };
  const std::vector<Row> rows{
      {"nothing said", {}, OnFile::kNothing, "binder"},
      {"only what may be bound", {{"--allow", "10de:2236"}}, OnFile::kNothing, "binder"},
      {"declared", {declared}, OnFile::kNothing, "binder"},
      {"a plugind", {socket}, OnFile::kNothing, "hardware gate"},
      {"rights", {rights("watch,kubelet")}, OnFile::kNothing, "hardware gate"},
      {"bind", {rights("watch,bind")}, OnFile::kNothing, "hardware gate binder"},
      {"bind alone", {rights("bind")}, OnFile::kNothing, "hardware gate binder"},
      {"probe", {rights("watch,kubelet,probe")}, OnFile::kNothing, "hardware gate binder"},
      {"serial", {rights("watch,kubelet,serial")}, OnFile::kNothing, "hardware gate binder"},
      {"the last rights count",
       {rights("bind"), rights("watch")},
       OnFile::kNothing,
       "hardware gate"},
      {"declared, too", {socket, declared}, OnFile::kNothing, "hardware gate binder"},
      {"virtual functions, too",
       {socket, {"--vfs", "0000:3b:00.0=8"}},
       OnFile::kNothing,
       "hardware gate binder"},
      {"kept on file", {socket}, OnFile::kDeclared, "hardware gate binder"},
  };
  for (const Row& row : rows) EXPECT_EQ(rolesOf(row.given, row.onFile), row.roles) << row.name;
}

TEST(RolesToStart, AreToldWhatTheyHaveInTheOrderGiven) {
  const std::vector<GivenOption> given{
      {"--plugind", "/run/x.sock"},
      {"--plugind-rights", "watch,bind"},
      {"--sysfs", "/host/sys"},
      {"--kubelet-dir", "/k"},
      {"--allow", "10de:2236"},
      {"--allow", "class=03"},
      {"--allow-storage", "true"},
      {"--hardware-uid", "9"},
      {"--rescan", "5"},
      {"--log-format", "json"},
      {"--state-dir", "/state"},
  };
  const std::vector<RolePlan> wanted{
      {PrivdRole::kHardware,
       {"--plugind=/run/x.sock", "--sysfs=/host/sys", "--rescan=5", "--log-format=json"}},
      {PrivdRole::kGate,
       {"--plugind=/run/x.sock", "--plugind-rights=watch,bind", "--kubelet-dir=/k",
        "--log-format=json", "--state-dir=/state"}},
      {PrivdRole::kBinder,
       {"--plugind=/run/x.sock", "--plugind-rights=watch,bind", "--sysfs=/host/sys",
        "--allow=10de:2236", "--allow=class=03", "--allow-storage=true", "--rescan=5",
        "--log-format=json", "--state-dir=/state"}},
  };
  EXPECT_EQ(rolesToStart(given, OnFile::kNothing), wanted);
}

TEST(Noting, KeepsWhatWasTakenInOrderFromAFileToo) {
  const TempDir dir;
  std::ofstream(dir / "privd.conf") << "sysfs /host/sys\nflag\n";
  std::string sysfs;
  bool flag = false;
  std::vector<GivenOption> given;
  OptionTable table =
      noting({textOption("--sysfs", sysfs, "help"), flagOption("--flag", flag, "help")}, given);
  table.push_back(fileOption(table));
  ASSERT_TRUE(parseOptions(table, {"--options", dir / "privd.conf", "--sysfs=/sys"}));
  EXPECT_FALSE(parseOptions(table, {"--flag=maybe"}));
  EXPECT_EQ(given, (std::vector<GivenOption>{
                       {"--sysfs", "/host/sys"}, {"--flag", "true"}, {"--sysfs", "/sys"}}));
}

TEST(DeclaredIn, IsWhatIsKeptThere) {
  const TempDir dir;
  EXPECT_EQ(declaredIn(dir / "none"), OnFile::kNothing);
  std::filesystem::create_directory(dir / "declared");
  EXPECT_EQ(declaredIn(dir.path()), OnFile::kNothing);
  std::ofstream(dir / "declared/0000:01:00.0") << "vendor=10de\n";
  EXPECT_EQ(declaredIn(dir.path()), OnFile::kDeclared);
}

// Nobody knows what is there.
TEST(DeclaredIn, IsSomethingWhereItCannotBeRead) {
  const TempDir dir;
  std::ofstream(dir / "declared") << "no directory\n";
  EXPECT_EQ(declaredIn(dir.path()), OnFile::kDeclared);
}

}  // namespace
}  // namespace vfiogate
