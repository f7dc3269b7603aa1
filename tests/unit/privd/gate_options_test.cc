#include "privd/options/program_options.h"

#include "privd/options/binding_options.h"
#include "privd/options/known_options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

/// What the options make of `arguments`: empty, or the parser's complaint.
std::string complaint(const std::vector<std::string>& arguments, GateOptions& options) {
  OptionTable table = gateOptions(options);
  int readyFd = -1;
  table.push_back(readyOption(readyFd));
  table.push_back(fileOption(table, kOptionsOfPrivd));
  const auto parsed = parseOptions(table, arguments, "privd-gate");
  return parsed ? "" : parsed.error();
}

TEST(GateOptions, HaveTheDocumentedDefaults) {
  GateOptions options;
  EXPECT_EQ(complaint({}, options), "");
  EXPECT_EQ(options.plugind, "/run/vfiogate/plugind/plugind.sock");
  EXPECT_EQ(options.plugindUid, 64532U);
  EXPECT_EQ(options.plugindRights, "watch,kubelet") << "cdi is off by default";
  EXPECT_EQ(options.stateDir, "/var/lib/vfiogate");
  EXPECT_EQ(options.kubeletDir, "/var/lib/kubelet");
  EXPECT_EQ(options.cdiDir, "/var/run/cdi");
  EXPECT_EQ(options.resourcePrefixes, std::vector<std::string>{"vfiogate.dev/"});
}

TEST(GateOptions, AreTaken) {
  GateOptions options;
  EXPECT_EQ(complaint({"--plugind=/x.sock",
                       "--plugind-uid",
                       "7",
                       "--plugind-rights",
                       "kubelet,cdi",
                       "--kubelet-dir",
                       "/kubelet",
                       "--cdi-dir",
                       "/cdi",
                       "--state-dir",
                       "/state",
                       "--record-dir",
                       "/record",
                       "--resource-prefix",
                       "a.org/",
                       "--resource-prefix",
                       "b.org/x",
                       "--dra-driver",
                       "vfio.a.org",
                       "--plugind-config",
                       "/c.yaml",
                       "--log-format",
                       "json",
                       "--require-landlock"},
                      options),
            "");
  EXPECT_EQ(options.plugind, "/x.sock");
  EXPECT_EQ(options.plugindUid, 7U);
  EXPECT_EQ(options.plugindRights, "kubelet,cdi");
  EXPECT_EQ(options.recordDir, "/record");
  EXPECT_EQ(options.resourcePrefixes, (std::vector<std::string>{"a.org/", "b.org/x"}));
  EXPECT_EQ(options.draDriver, "vfio.a.org");
  EXPECT_EQ(options.plugindConfig, "/c.yaml");
  EXPECT_EQ(options.logForm, LogForm::kJson);
  EXPECT_TRUE(options.requireLandlock);
}

TEST(GateOptions, OfOtherRolesAreRefusedAsArguments) {
  for (const char* other : {"--sysfs=/sys", "--allow=10de:2684", "--audit-log=/x", "--rescan=5",
                            "--control-fd=3", "--hardware-uid=5"}) {
    GateOptions options;
    const std::string name = std::string(other).substr(0, std::string(other).find('='));
    EXPECT_EQ(complaint({other}, options), "'" + name + "' is no option of privd-gate");
  }
}

TEST(GateOptions, OfValuesThatMakeNoSenseAreRefused) {
  struct Row {
    std::vector<std::string> arguments;
    std::string says;
  };
  const std::vector<Row> rows{
      {{"--plugind-uid", "0"}, "must not run as root"},
      {{"--plugind-rights", "watch,fly"}, "unknown right 'fly'"},
      {{"--resource-prefix", "vfiogate.dev"}, "has no '/'"},
      {{"--dra-driver", "../x"}, "no DRA driver's name"},
      {{"--ready-fd", "2"}, "'2' is no descriptor above 2"},
      {{"--ready-fd", "-3"}, "a value is missing"},
      {{"--ready-fd=9999999999"}, "is no descriptor"},
      {{"--log-format", "xml"}, "neither logfmt nor json"},
      {{"--options", "/nonexistent"}, "cannot read options file /nonexistent"},
  };
  for (const Row& row : rows) {
    GateOptions options;
    EXPECT_NE(complaint(row.arguments, options).find(row.says), std::string::npos)
        << row.says << ": " << complaint(row.arguments, options);
  }
}

TEST(ReadyOption, TakesTheDescriptorThatItIsGiven) {
  int readyFd = -1;
  const OptionTable table{readyOption(readyFd)};
  EXPECT_TRUE(parseOptions(table, {"--ready-fd", "3"}, "privd-gate"));
  EXPECT_EQ(readyFd, 3);
}

TEST(GateOptions, OfAFileLeaveOutWhatIsAnotherRoles) {
  TempDir dir;
  std::ofstream(dir / "privd.conf") << "# of all roles\nsysfs /host/sys\nallow vendor=10de\n"
                                       "kubelet-dir /host/kubelet\nallow-storage\nrescan=x\n";
  GateOptions options;
  EXPECT_EQ(complaint({"--options", dir / "privd.conf"}, options), "");
  EXPECT_EQ(options.kubeletDir, "/host/kubelet");
}

TEST(GateOptions, OfAFileThatNoRoleHasAreRefusedByLine) {
  TempDir dir;
  const std::string file = dir / "privd.conf";
  std::ofstream(file) << "sysfs /x\nalow vendor=10de\n";
  GateOptions options;
  EXPECT_EQ(complaint({"--options", file}, options),
            "--options: " + file + ":2: '--alow' is no option of privd serve");
}

TEST(IommufdOptions, TakeAnAbsolutePathInADirectoryOfItsOwn) {
  IommufdOptions options;
  const OptionTable table = iommufdOptions(options);
  EXPECT_TRUE(parseOptions(table, {"--socket", "/run/x/y.sock"}, "privd-iommufd"));
  EXPECT_EQ(options.socket, "/run/x/y.sock");
  for (const char* path : {"y.sock", "run/y.sock", "/y.sock", "/run/x/"}) {
    const auto parsed = parseOptions(table, {"--socket", path}, "privd-iommufd");
    ASSERT_FALSE(parsed) << path;
    EXPECT_EQ(parsed.error(), "--socket: '" + std::string(path) +
                                  "' is no absolute path of a file in a directory of its own");
  }
}

TEST(KnownOptions, AreThoseOfAllTables) {
  ServeOptions serve;
  GateOptions gate;
  std::set<std::string> names;
  for (const Option& option : serveOptions(serve)) names.insert(option.name);
  for (const Option& option : gateOptions(gate)) names.insert(option.name);
  EXPECT_EQ(names, std::set<std::string>(kOptionsOfPrivd.begin(), kOptionsOfPrivd.end()));
}

}  // namespace
}  // namespace vfiogate
