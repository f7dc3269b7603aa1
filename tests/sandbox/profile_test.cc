// The shipped programs under the profiles that they print, with no_new_privs, as in their
// containers.

#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_policy.h"
#include "seccomp/startup_rules.h"
#include "sim/base/http_client.h"
#include "sim/base/process_status.h"
#include "tests/support/seen/reduced_table.h"
#include "tests/support/split_node.h"
#include "tests/support/test_certificates.h"

#include <gmock/gmock.h>

#include <seccomp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kCards = "vfiogate.dev/10de_2684";
constexpr const char* kCardsOffered = "resources:\n  - select: {vendor: \"10de\"}\n";

struct Program {
  std::string name;
  Policy policy;
};

const std::vector<Program> kPrograms{
    {"privd-hardware", privdPolicy("hardware")},
    {"privd-gate", privdPolicy("gate")},
    {"privd-binder", privdPolicy("binder")},
    {"plugind", {"plugind", kPlugindRules, kPlugindStartupRules}},
    {"netd", {"netd metrics", kNetdMetricsRules, kNetdMetricsStartupRules}},
};

const Policy kNetdDra{"netd dra", kNetdDraRules, kNetdDraStartupRules};

std::string starterProgram() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "under_profile";
}

class UnderProfile : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
#ifdef VFIOGATE_SANITIZED
    GTEST_SKIP() << "a sanitizer's start is not in the profiles, which are for what is shipped";
#endif
    node_.emplace();
    node_->hardware.add({.address = "0000:01:00.0"});
    for (const Program& program : kPrograms) use(program.name, profileRows(program.policy));
  }

  /// From now on the program starts under these rows.
  void use(const std::string& program, const std::vector<Rule>& rows) {
    const std::string file = node_->directory(program + ".json");
    std::ofstream(file) << profileAsOci(rows);
    node_->starters[program] = {starterProgram(), file};
  }

  /// Each of privd's processes as its container starts it; false if it does not say that it serves.
  bool start(const std::string& role) {
    const std::map<std::string, std::vector<std::string>> options{
        {"privd-hardware", joined({sysfsOptions(), {"--uevents", "on"}})},
        {"privd-gate",
         {"--kubelet-dir", node_->directory("kubelet"), "--state-dir", node_->directory("state")}},
        {"privd-binder", joined({sysfsOptions(),
                                 stateOptions(),
                                 {"--uevents", "on", "--plugind-rights", "watch,kubelet,bind"}})}};
    auto words =
        node_->command(role, joined({{"--plugind", node_->plugindSocket()}, options.at(role)}));
    if (role == "privd-hardware") {
      const std::vector<std::string> user{"/usr/bin/setpriv", "--reuid", "64531",
                                          "--regid",          "64531",   "--clear-groups",
                                          "--bounding-set",   "-all"};
      words.insert(words.begin(), user.begin(), user.end());
    }
    return privd_.try_emplace(role, words, filteredEnvironment())
        .first->second.says("event=started");
  }
  bool startPrivd() {
    return start("privd-hardware") && start("privd-gate") && start("privd-binder");
  }
  bool startAll() {
    return node_->startPlugind(kCardsOffered) && startPrivd() && node_->startNetd();
  }
  std::vector<ChildProcess*> processes() {
    std::vector<ChildProcess*> all{&*node_->plugind, &*node_->netd};
    for (auto& [role, process] : privd_) all.push_back(&process);
    return all;
  }
  std::string said() {
    std::string all = node_->said();
    for (auto& [role, process] : privd_) all += process.output();
    return all;
  }

  static std::vector<std::string> joined(const std::vector<std::vector<std::string>>& parts) {
    std::vector<std::string> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  std::vector<std::string> sysfsOptions() {
    return {"--sysfs", node_->hardware.sysfs(), "--dev", node_->hardware.dev()};
  }
  std::vector<std::string> stateOptions() {
    return {"--state-dir", node_->directory("state"), "--audit-log",
            node_->directory("audit.jsonl")};
  }

  /// Exit code and output of a command under its program's profile.
  std::pair<int, std::string> run(const std::string& program,
                                  const std::vector<std::string>& arguments) {
    ChildProcess process(node_->command(program, arguments));
    std::string said = process.outputWhole();
    return {process.wait(), said};
  }
  std::pair<int, std::string> status() {
    return run("plugind", {"status", "--listen", node_->plugindSocket(), "--output=metrics",
                           "--timeout=5000"});
  }
  /// The same of `privd`, in the container of one of its processes.
  std::pair<int, std::string> runIn(const std::string& role, std::vector<std::string> words) {
    words.insert(words.begin(), builtProgram("privd"));
    words = joined({node_->starters.at(role), words});
    ChildProcess process(words);
    std::string said = process.outputWhole();
    return {process.wait(), said};
  }
  std::pair<int, std::string> list() {
    return runIn("privd-hardware", joined({{"list"}, sysfsOptions()}));
  }
  /// In the gate's, which sees no more than the state directory.
  std::pair<int, std::string> exclude(const std::vector<std::string>& words) {
    return runIn("privd-gate",
                 joined({words,
                         {"--state-dir", node_->directory("state"), "--sysfs", "/nowhere", "--dev",
                          "/nowhere", "--audit-log", "/nowhere/log/audit.jsonl"}}));
  }
  std::pair<int, std::string> change(const std::vector<std::string>& words) {
    return runIn("privd-binder", joined({words, sysfsOptions(), stateOptions()}));
  }

  std::string audit() {
    std::ifstream file(node_->directory("audit.jsonl"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// netd's answer, for which it asks plugind.
  int healthz() {
    const auto answer = httpGet(node_->netdPort(), "/healthz", kPatience);
    return answer ? answer->code : 0;
  }

  std::optional<SplitNode> node_;
  std::map<std::string, ChildProcess> privd_;
};

TEST_F(UnderProfile, ThePrintedProfileIsTheOneTestedHere) {
  for (const Program& program : kPrograms) {
    const bool privds = program.name.starts_with("privd-");
    std::vector<std::string> words{builtProgram(privds ? "privd" : program.name), "policy"};
    if (privds) words.push_back(program.name.substr(sizeof("privd-") - 1));
    words.insert(words.end(), {"-o", "oci"});
    ChildProcess printed(words);
    EXPECT_TRUE(printed.outputWhole() == profileAsOci(profileRows(program.policy))) << program.name;
    EXPECT_EQ(printed.wait(), 0);
  }
  ChildProcess dra({builtProgram("netd"), "policy", "dra", "-o", "oci"});
  EXPECT_TRUE(dra.outputWhole() == profileAsOci(profileRows(kNetdDra)));
}

TEST_F(UnderProfile, EachProgramLocksDownAndServes) {
  node_->kubelet.start();
  ASSERT_TRUE(startAll()) << said();
  ASSERT_TRUE(node_->kubelet.shows(kCards, {"0000:01:00.0"})) << said();
  const auto pod = node_->kubelet.admit(podOf("pod-1", kCards));
  EXPECT_TRUE(pod.admitted) << pod.message;
  for (ChildProcess* process : processes()) {
    EXPECT_THAT(lockdownFaults(process->pid()), IsEmpty());
    EXPECT_EQ(threadStatuses(process->pid()).begin()->second.at("Seccomp_filters"), "2");
  }
  EXPECT_EQ(healthz(), 200);
  for (ChildProcess* process : processes()) {
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0) << said();
  }
}

TEST_F(UnderProfile, NetdListensOnIPv6) {
  if (!std::filesystem::exists("/proc/net/if_inet6")) GTEST_SKIP() << "no IPv6 on this machine";
  ChildProcess netd(node_->command("netd", {"metrics", "--listen", "[::]:0"}));
  EXPECT_TRUE(netd.says("event=started")) << netd.output();
}

TEST_F(UnderProfile, NetdDraReadsItsCertificatesAndLocksDown) {
  const auto certificates = makeCertificates(node_->directory("pki"));
  use("netd", profileRows(kNetdDra));
  ChildProcess netd(
      node_->command("netd", {"dra", "--node", "n", "--api-server", "https://127.0.0.1:9", "--ca",
                              certificates.ca, "--plugind", node_->plugindSocket()}));
  EXPECT_TRUE(netd.says("event=plugind_away")) << netd.output();
  EXPECT_THAT(lockdownFaults(netd.pid()), IsEmpty());
  netd.signal(SIGTERM);
  EXPECT_EQ(netd.wait(), 0) << netd.output();
}

TEST_F(UnderProfile, CommandsInTheContainersWork) {
  node_->kubelet.start();
  ASSERT_TRUE(startAll()) << said();
  ASSERT_TRUE(node_->kubelet.shows(kCards, {"0000:01:00.0"})) << said();
  const auto probed =
      run("plugind", {"probe", "--timeout", "30000", "--listen", node_->plugindSocket()});
  // A node of a few seconds is not ready yet; what matters is that plugind was asked.
  EXPECT_THAT(probed.second, AnyOf(StartsWith("ready"), StartsWith("not ready: not adopted")));
  EXPECT_EQ(status().first, 0) << status().second;
  EXPECT_THAT(
      run("plugind", {"explain", "0000:01:00.0", "--listen", node_->plugindSocket()}).second,
      HasSubstr(kCards));
  const auto listed = list();
  EXPECT_EQ(listed.first, 0) << listed.second;
  EXPECT_THAT(listed.second, HasSubstr("0000:01:00.0"));
}

// They do all by themselves, in the container of a daemon that runs.
TEST_F(UnderProfile, CommandsThatExcludeDevicesWorkInTheGatesContainer) {
  ASSERT_TRUE(startAll()) << said();
  const auto held = exclude({"hold", "0000:01:00.0", "--reason", "fan"});
  EXPECT_EQ(held.first, 0) << held.second;
  EXPECT_THAT(exclude({"holds"}).second, HasSubstr("fan"));
  EXPECT_EQ(exclude({"release", "0000:01:00.0"}).first, 0);
}

TEST_F(UnderProfile, CommandsThatChangeDriversWorkInTheBindersContainer) {
  ASSERT_TRUE(startAll()) << said();
  const auto held = change({"hold", "0000:01:00.0", "--reason", "fan"});
  EXPECT_EQ(held.first, 0) << held.second;
  EXPECT_THAT(change({"holds"}).second, HasSubstr("fan"));
  EXPECT_EQ(change({"release", "0000:01:00.0"}).first, 0);
  const auto planned = change({"bind", "0000:01:00.0", "--dry-run", "--override", "held"});
  EXPECT_EQ(planned.first, 0) << planned.second;
  // This sysfs has no kernel behind it: the change is recorded, tried, and undone.
  const auto tried = change({"unbind", "0000:01:00.0", "--override", "held"});
  EXPECT_THAT(tried.second, HasSubstr("audit record")) << tried.second;
  EXPECT_THAT(audit(), HasSubstr("\"peer\":{\"role\":\"root\",\"uid\":0,"));
  EXPECT_NE(tried.first, 128 + SIGSYS) << tried.second;
}

struct Needed {
  std::string program;
  Rule row;
  std::size_t number;
};

/// The rows of a program's start that stand for something: not defensive, and not for a call that
/// the program's own table allows anyway.
std::vector<Needed> rowsOfStart() {
  std::vector<Needed> needed;
  for (const Program& program : kPrograms) {
    const auto rows = profileRows(program.policy);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const std::span<const Rule> table :
           {std::span<const Rule>(kThreadMemoryRules), std::span<const Rule>(kStartupRules),
            program.policy.startup}) {
        const auto isIt = [&row = rows[i]](const Rule& other) {
          return other.isFor(row.calls().front().number) && other.reason() == row.reason();
        };
        if (std::ranges::any_of(table, isIt) && !rows[i].isDefensive()) {
          needed.push_back({program.name, rows[i], i});
        }
      }
    }
  }
  return needed;
}

void PrintTo(const Needed& needed, std::ostream* out) {
  *out << needed.program << " without " << callNames(needed.row) << ": " << needed.row.reason();
}

class EveryRow : public UnderProfile, public testing::WithParamInterface<Needed> {};

// What makes it needed: it does not start, or its command in the container does not work.
TEST_P(EveryRow, OfTheStartIsNeeded) {
  const auto& [program, row, number] = GetParam();
  const Program& whole = *std::ranges::find(kPrograms, program, &Program::name);
  use(program, withoutRow(profileRows(whole.policy), number));
  EXPECT_FALSE(startAll() && status().first == 0 && list().first == 0 && healthz() == 200 &&
               exclude({"hold", "0000:01:00.0", "--reason", "fan"}).first == 0 &&
               change({"audit", "verify"}).first == 0)
      << callNames(row) << ": " << row.reason();
}

INSTANTIATE_TEST_SUITE_P(Start, EveryRow, testing::ValuesIn(rowsOfStart()));

class WithoutCall : public UnderProfile, public testing::WithParamInterface<int> {};

TEST_P(WithoutCall, NoProgramStarts) {
  for (const Program& program : kPrograms) {
    auto rows = profileRows(program.policy);
    std::erase_if(rows, [](const Rule& row) { return row.isFor(GetParam()); });
    use(program.name, rows);
  }
  EXPECT_FALSE(node_->startPlugind(kCardsOffered)) << said();
  for (const char* role : {"privd-hardware", "privd-gate", "privd-binder"}) {
    EXPECT_FALSE(start(role)) << said();
  }
  EXPECT_FALSE(node_->startNetd()) << said();
}

INSTANTIATE_TEST_SUITE_P(Calls, WithoutCall,
                         testing::Values(SCMP_SYS(execve), SCMP_SYS(openat), SCMP_SYS(prctl),
                                         SCMP_SYS(seccomp), SCMP_SYS(capset), SCMP_SYS(mmap)));

}  // namespace
}  // namespace vfiogate::test
