#include "privd/options/program_options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

/// What the options make of `arguments`: empty, or the parser's complaint.
std::string complaint(const std::vector<std::string>& arguments, ServeOptions& options) {
  OptionTable table = serveOptions(options);
  table.push_back(fileOption(table));
  const auto parsed = parseOptions(table, arguments);
  return parsed ? "" : parsed.error();
}

TEST(ServeOptions, HaveTheDocumentedDefaults) {
  ServeOptions options;
  EXPECT_EQ(complaint({}, options), "");
  EXPECT_EQ(options.plugindUid, 64532U);
  EXPECT_EQ(options.stateDir, "/var/lib/vfiogate");
  EXPECT_EQ(options.cdiDir, "/var/run/cdi");
  EXPECT_EQ(options.plugindRights, "watch,kubelet") << "cdi is off by default";
  EXPECT_EQ(options.resourcePrefixes, std::vector<std::string>{"vfiogate.dev/"});
}

// A try or a test, which has a state directory of its own, touches nothing of the machine's.
TEST(ServeOptions, TheRecordOfAllocationsIsTheMachinesOwnUnlessTold) {
  EXPECT_EQ(recordDirectory("", "/var/lib/vfiogate"), "/run/vfiogate/devices");
  EXPECT_EQ(recordDirectory("", "/tmp/try/state"), "/tmp/try/state/devices");
  EXPECT_EQ(recordDirectory("/elsewhere", "/tmp/try/state"), "/elsewhere");
  ServeOptions options;
  EXPECT_EQ(complaint({"--record-dir", "/elsewhere"}, options), "");
  EXPECT_EQ(options.recordDir, "/elsewhere");
}

TEST(ServeOptions, TakeRepeatedPrefixes) {
  ServeOptions options;
  EXPECT_EQ(complaint({"--resource-prefix", "a.org/", "--resource-prefix", "b.org/x"}, options),
            "");
  EXPECT_EQ(options.resourcePrefixes, (std::vector<std::string>{"a.org/", "b.org/x"}));
}

TEST(ServeOptions, GiveTheRightToSpecsWhereItIsNamed) {
  ServeOptions options;
  EXPECT_EQ(complaint({"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir", "/x/cdi"}, options),
            "");
  EXPECT_EQ(options.plugindRights, "watch,kubelet,cdi");
  EXPECT_EQ(options.cdiDir, "/x/cdi");
}

TEST(ServeOptions, GiveTheRightToBindWhereItIsNamed) {
  ServeOptions options;
  EXPECT_EQ(complaint({"--plugind-rights", "watch,kubelet,bind"}, options), "");
  EXPECT_EQ(options.plugindRights, "watch,kubelet,bind");
}

TEST(ServeOptions, SayWhatMayBeBoundAndWhatIsDeclared) {
  ServeOptions options;
  EXPECT_EQ(complaint({"--allow", "10de:2684", "--allow", "class=03", "--deny", "address=0000:00:*",
                       "--declare", "0000:01:00.0=10de:2684", "--override", "boot-vga=01:00.0",
                       "--vfs", "3b:00.0=8", "--override", "users", "--allow-storage"},
                      options),
            "");
  EXPECT_EQ(options.binding.allow.size(), 2U);
  EXPECT_EQ(options.binding.deny.size(), 1U);
  ASSERT_EQ(options.declared.size(), 1U);
  EXPECT_EQ(options.declared[0].values().size(), 3U) << "address, vendor and device";
  ASSERT_EQ(options.vfs.size(), 1U);
  EXPECT_EQ(options.vfs[0].count, 8U);
  EXPECT_EQ(options.binding.overrides,
            (std::vector<GuardOverride>{{Guard::kBootVga, *Bdf::parse("0000:01:00.0")},
                                        {Guard::kUsers, std::nullopt}}));
  EXPECT_TRUE(options.binding.allowStorage);
  EXPECT_FALSE(options.binding.allowUnguardedUnbind);
  EXPECT_EQ(options.binding.auditLog, "/var/log/vfiogate/audit.jsonl");
}

TEST(ServeOptions, TheLastValueWins) {
  ServeOptions options;
  EXPECT_EQ(complaint({"--rescan", "5", "--rescan=7", "--allow-storage", "--allow-storage=false",
                       "--uevents=off", "--log-format=json", "--require-landlock=true"},
                      options),
            "");
  EXPECT_EQ(options.rescanSeconds, 7U);
  EXPECT_FALSE(options.binding.allowStorage);
  EXPECT_EQ(options.uevents, "off");
  EXPECT_EQ(options.logForm, LogForm::kJson);
  EXPECT_TRUE(options.requireLandlock);
}

TEST(ServeOptions, ShowWhatTheyTakeAndTheirDefaults) {
  ServeOptions options;
  const std::string help = helpOf(serveOptions(options));
  for (const char* line :
       {"  --sysfs TEXT=/sys           the root below which sysfs is found\n",
        "  --dra-driver NAME           the DRA driver that",
        "  --resource-prefix TEXT=[vfiogate.dev/] ...\n                              what the",
        "  --uevents TEXT:{on,off}=on  listen", "  --allow SELECTOR ...        what",
        "  --allow-storage             bind"}) {
    EXPECT_NE(help.find(line), std::string::npos) << line << help;
  }
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string says;
};

class ServeOptionsRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(ServeOptionsRefuse, WithTheReason) {
  ServeOptions options;
  EXPECT_NE(complaint(GetParam().arguments, options).find(GetParam().says), std::string::npos)
      << complaint(GetParam().arguments, options);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ServeOptionsRefuse,
    testing::Values(Refusal{{"--plugind-uid", "0"}, "must not run as root"},
                    Refusal{{"--hardware-uid", "0"}, "privd-hardware must not run as root"},
                    Refusal{{"--hardware-uid", "x"}, "--hardware-uid"},
                    Refusal{{"--plugind-uid", "-1"}, "--plugind-uid"},
                    Refusal{{"--plugind-uid", "nobody"}, "--plugind-uid"},
                    Refusal{{"--plugind-rights", "watch,fly"}, "unknown right 'fly'"},
                    Refusal{{"--resource-prefix", "vfiogate.dev"}, "has no '/'"},
                    Refusal{{"--rescan", "0"}, "--rescan: '0' is no number of seconds from 1 to"},
                    Refusal{{"--rescan", "86401"}, "--rescan"},
                    Refusal{{"--rescan"}, "--rescan: a value is missing: UINT"},
                    Refusal{{"--sysfs", "--dev", "/x"}, "--sysfs: a value is missing: TEXT"},
                    Refusal{{"--require-landlock=7"}, "'7' is neither true nor false"},
                    Refusal{{"--require-landlock="}, "a value is missing: true or false"},
                    Refusal{{"--sys", "/x"}, "'--sys' is no option of privd serve"},
                    Refusal{{"--require-landlock", "extra"}, "'extra' is no option of privd serve"},
                    Refusal{{"--sysfs", "/x\n"}, "not printable ASCII"},
                    Refusal{{"--uevents", "maybe"}, "maybe"},
                    Refusal{{"--log-format", "xml"}, "'xml' is neither logfmt nor json"},
                    Refusal{{"--allow", "vendor=xyz"}, "--allow: "},
                    Refusal{{"--deny", "colour=red"}, "--deny: "},
                    Refusal{{"--declare", "0000:01:00.0"}, "ADDRESS=VENDOR:DEVICE"},
                    Refusal{{"--declare", "0000:01:00.0=what"}, "--declare: "},
                    Refusal{{"--vfs", "0000:01:00.0"}, "ADDRESS=NUMBER"},
                    Refusal{{"--vfs", "0000:01:00.0=0"}, "privd ends no virtual functions"},
                    Refusal{{"--override", "root-disk"}, "no guard that may be overridden"},
                    Refusal{{"--override", "users=1"}, "'1' is no PCI address"},
                    Refusal{{"--dra-driver", "../x"}, "no DRA driver's name"},
                    Refusal{{"--dra-driver", "Vfio.dev"}, "no DRA driver's name"},
                    Refusal{{"--dra-driver", "10de.dev"}, "no DRA driver's name"},
                    Refusal{{"--dra-driver", std::string(64, 'a')}, "no DRA driver's name"},
                    Refusal{{"--options", "/nonexistent"},
                            "cannot read options file /nonexistent"}));

TEST(ServeOptions, ComeFromAFileToo) {
  TempDir dir;
  std::ofstream(dir / "privd.conf") << "# a comment\n\n  sysfs /host/sys\nrescan=5\n"
                                       "resource-prefix = a.org/\nresource-prefix b.org/\n";
  ServeOptions options;
  EXPECT_EQ(complaint({"--options", dir / "privd.conf", "--rescan", "7"}, options), "");
  EXPECT_EQ(options.sysfs, "/host/sys");
  EXPECT_EQ(options.resourcePrefixes, (std::vector<std::string>{"a.org/", "b.org/"}));
}

TEST(ServeOptions, FilesAreRefusedByLine) {
  struct Row {
    std::string text, complaint;
  };
  const std::vector<Row> rows{
      {"rescan 5\n--sysfs /host/sys\n",
       "2: '--sysfs': write long options without the dashes, and no options in options"},
      {"\n# mine\nalow vendor=10de\n", "3: '--alow' is no option of privd serve"},
      {"rescan 5\nrescan 0\n", "2: --rescan: '0' is no number of seconds from 1 to 86400"},
      {"deny\n", "1: --deny: a value is missing: SELECTOR"},
      {"options /x\n",
       "1: 'options': write long options without the dashes, and no options in options"},
      {"sysfs /x\x01\n", "1: a character is not printable ASCII"},
  };
  TempDir dir;
  const std::string file = dir / "privd.conf";
  for (const Row& row : rows) {
    std::ofstream(file, std::ios::trunc) << row.text;
    ServeOptions options;
    EXPECT_EQ(complaint({"--options=" + file, "--rescan", "7"}, options),
              "--options: " + file + ":" + row.complaint);
  }
}

// Found by option_file_fuzz.
TEST(ServeOptions, OfAFileWithoutAValueAreRefused) {
  TempDir dir;
  std::ofstream(dir / "privd.conf") << "rescan=\n";
  ServeOptions options;
  const std::string said = complaint({"--options=" + (dir / "privd.conf")}, options);
  EXPECT_NE(said.find("--rescan"), std::string::npos) << said;
}

}  // namespace
}  // namespace vfiogate
