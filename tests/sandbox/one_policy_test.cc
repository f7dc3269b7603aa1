// One source of policy: the tables of seccomp/ are what the running processes have loaded, what the
// programs print in each form, and what the page of the documentation says.

#include "cli/common_options.h"
#include "cli/self_test/bpf_interpreter.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_policy.h"
#include "seccomp/startup_rules.h"
#include "sim/base/child_process.h"
#include "tests/sandbox/daemons_under_test.h"
#include "tests/support/seen/source_file.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <linux/filter.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using nlohmann::json;

/// What a program prints of itself, and of the processes that it makes.
struct Printed {
  const char* name;  ///< of the test instance
  std::vector<std::string> words;
  Policy policy;
};
void PrintTo(const Printed& printed, std::ostream* out) {
  *out << printed.name;
}

std::vector<Printed> printedPolicies() {
  return {
      {"PrivdHardware", {"privd", "policy", "hardware"}, privdPolicy("hardware")},
      {"PrivdGate", {"privd", "policy", "gate"}, privdPolicy("gate")},
      {"PrivdBinder", {"privd", "policy", "binder"}, privdPolicy("binder")},
      {"PrivdDaemon", {"privd", "policy", "daemon"}, privdPolicy("daemon")},
      {"PrivdIommufd", {"privd", "policy", "iommufd"}, privdPolicy("iommufd")},
      {"Plugind", {"plugind", "policy"}, {"plugind", kPlugindRules, kPlugindStartupRules}},
      {"NetdMetrics",
       {"netd", "policy", "metrics"},
       {"netd metrics", kNetdMetricsRules, kNetdMetricsStartupRules}},
      {"NetdDra", {"netd", "policy", "dra"}, {"netd dra", kNetdDraRules, kNetdDraStartupRules}}};
}

class OnePolicy : public testing::TestWithParam<Printed> {
protected:
  static std::string printed(const std::string& form) {
    std::vector<std::string> words = GetParam().words;
    words.front() = builtProgram(words.front());
    words.insert(words.end(), {"-o", form});
    ChildProcess program(words);
    std::string text = program.outputWhole();
    EXPECT_EQ(program.wait(), 0) << text;
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(Programs, OnePolicy, testing::ValuesIn(printedPolicies()),
                         [](const auto& row) { return row.param.name; });

// privd adds its places for Landlock and the evidence of its guards behind its tables.
TEST_P(OnePolicy, IsPrintedAsText) {
  EXPECT_THAT(printed("text"), testing::StartsWith(policyAs("text", GetParam().policy)));
}

TEST_P(OnePolicy, IsPrintedAsJson) {
  json said = json::parse(printed("json"));
  said.erase("guards");
  said.erase("landlock");
  EXPECT_EQ(said, json::parse(policyAs("json", GetParam().policy)));
}

TEST_P(OnePolicy, IsPrintedAsYaml) {
  const auto whole = nlohmann::ordered_json::parse(printed("json"));
  EXPECT_EQ(printed("yaml"), documentText(whole, "yaml"));
}

TEST_P(OnePolicy, IsPrintedAsAProfile) {
  EXPECT_EQ(printed("oci"), policyAs("oci", GetParam().policy));
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// The rows of a process's table on the page.
std::vector<std::string> documentedRows(const std::string& process) {
  std::istringstream page(sourceText("docs/security/syscalls.md"));
  std::vector<std::string> rows;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) within = line == "## " + process;
    if (within && line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

std::vector<std::string> rowsToDocument(std::string_view process, std::span<const Rule> table) {
  std::vector<std::string> rows;
  const json whole = json::parse(policyAs("json", {process, table, {}}));
  for (const json& row : whole.at("rows")) {
    std::string arguments;
    for (const json& argument : row.at("arguments")) {
      arguments += (arguments.empty() ? "" : ", ") + argument.at("text").get<std::string>();
    }
    std::string why = row.at("reason");
    if (!row.at("defensive").is_null()) {
      why += "; **defensive**: " + row.at("defensive").get<std::string>();
    }
    std::string calls = "`" + row.at("call").get<std::string>() + "`";
    if (!row.at("madeBy").is_null())
      why += "; " + calls + ": " + row.at("madeBy").get<std::string>();
    for (const json& other : row.at("alternatives")) {
      const std::string name = "`" + other.at("call").get<std::string>() + "`";
      calls += " or " + name;
      why += "; " + name + ": " + other.at("madeBy").get<std::string>();
    }
    rows.push_back("| " + calls + " | " +
                   (arguments.empty() ? "any" : replaced(arguments, "|", "\\|")) + " | " +
                   row.at("action").get<std::string>() + " | " + why + " |");
  }
  return rows;
}

TEST_P(OnePolicy, IsOnThePageOfTheDocumentation) {
  const Policy& policy = GetParam().policy;
  EXPECT_EQ(documentedRows(std::string(policy.process)),
            rowsToDocument(policy.process, policy.table));
  for (const ProcessPolicy& other : policy.others) {
    EXPECT_EQ(documentedRows(std::string(other.process)),
              rowsToDocument(other.process, other.table));
  }
}

std::span<const Rule> tableOf(Role role) {
  switch (role) {
    case Role::kDaemon:
      return kDaemonRules;
    case Role::kHardware:
      return kHardwareRules;
    case Role::kBinder:
      return kBinderRules;
    case Role::kIommufd:
      return kIommufdRules;
    case Role::kForkServer:
      return kForkServerRules;
    case Role::kGate:
      return kGateRules;
    case Role::kPlugind:
      return kPlugindRules;
    case Role::kNetdMetrics:
      return kNetdMetricsRules;
    case Role::kNetdDra:
      break;
  }
  return kNetdDraRules;
}

/// The filter that the process loaded last, as the kernel has it; `error` is an errno.
std::vector<sock_filter> loadedFilter(pid_t pid, int& error) {
  std::vector<sock_filter> program;
  if (ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) != 0) throw std::runtime_error("ptrace");
  waitpid(pid, nullptr, __WALL);
  const long length = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, nullptr, nullptr);
  error = length < 0 ? errno : 0;
  if (length > 0) {
    program.resize(static_cast<std::size_t>(length));
    ptrace(PTRACE_SECCOMP_GET_FILTER, pid, nullptr, program.data());
  }
  ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  return program;
}

class LoadedFilter : public testing::TestWithParam<DaemonUnderTest> {};

INSTANTIATE_TEST_SUITE_P(Daemons, LoadedFilter, testing::ValuesIn(daemonsUnderTest()),
                         [](const auto& row) { return row.param.name; });

TEST_P(LoadedFilter, OfTheRunningProcessIsItsTable) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to hold the daemons by ptrace";
  RunningDaemon running(GetParam());
  ASSERT_TRUE(running.ready()) << running.output();
  int error = 0;
  const std::vector<sock_filter> loaded = loadedFilter(running.pid(), error);
  if (error != 0) GTEST_SKIP() << "this kernel does not show filters: " << std::strerror(error);
  std::vector<sock_filter> wanted = exportedFilter(tableOf(GetParam().role));
  ASSERT_EQ(loaded.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // The one constant that a table leaves open: the pid of who loads it. Other constants may be
    // the same number.
    const auto own = static_cast<std::uint32_t>(running.pid());
    if (wanted[i].k == static_cast<std::uint32_t>(getpid()) && loaded[i].k == own) {
      wanted[i].k = own;
    }
    EXPECT_EQ(std::memcmp(&loaded[i], &wanted[i], sizeof(sock_filter)), 0) << "instruction " << i;
  }
}

}  // namespace
}  // namespace vfiogate::test
