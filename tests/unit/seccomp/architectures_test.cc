// The tables on each architecture that they are for. A row with a call that the architecture of the
// build lacks does not compile (Rule); here each row is looked up on the others, by its name.

#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_policy.h"
#include "seccomp/startup_rules.h"

#include <gmock/gmock.h>

#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::array kArchitectures{SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64};

/// What x86-64 alone has, and what the tables name in its place for ARM64: nothing for
/// arch_prctl().
const std::set<std::string> kOfX86Alone{"arch_prctl", "epoll_wait", "mkdir", "poll"};

bool isOn(std::uint32_t architecture, const SystemCall& call) {
  return seccomp_syscall_resolve_name_arch(architecture, callName(call).c_str()) >= 0;
}

std::vector<Rule> everyRow() {
  std::vector<Rule> all;
  const auto add = [&all](std::span<const Rule> table) {
    all.insert(all.end(), table.begin(), table.end());
  };
  for (const char* role : {"hardware", "gate", "binder", "daemon", "iommufd"}) {
    const Policy policy = privdPolicy(role);
    add(policy.table);
    add(policy.startup);
    for (const ProcessPolicy& other : policy.others) add(other.table);
  }
  for (const std::span<const Rule> table :
       {std::span<const Rule>(kPlugindRules), std::span<const Rule>(kPlugindStartupRules),
        std::span<const Rule>(kNetdMetricsRules), std::span<const Rule>(kNetdMetricsStartupRules),
        std::span<const Rule>(kNetdDraRules), std::span<const Rule>(kNetdDraStartupRules),
        std::span<const Rule>(kRuntimeRules), std::span<const Rule>(kThreadMemoryRules),
        std::span<const Rule>(kStartupRules)}) {
    add(table);
  }
  return all;
}

TEST(EveryRow, HasACallOnEachArchitectureOrIsNamedHere) {
  std::set<std::string> missing;
  for (const Rule& row : everyRow()) {
    for (const std::uint32_t architecture : kArchitectures) {
      const bool has = std::ranges::any_of(
          row.calls(), [&](const SystemCall& call) { return isOn(architecture, call); });
      if (!has) missing.insert(callNames(row));
    }
  }
  for (const std::string& name : missing) {
    EXPECT_TRUE(kOfX86Alone.contains(name)) << name << " is not a call of every architecture";
  }
}

TEST(EveryRow, IsOfTheArchitectureThatItWasCompiledFor) {
  for (const Rule& row : everyRow()) {
    for (const SystemCall& call : row.calls()) {
      EXPECT_TRUE(isOn(seccomp_arch_native(), call)) << callNames(row);
    }
  }
}

// So that the list does not outlive its rows: each is in some table of x86-64 and in none of ARM64.
TEST(CallsOfX86Alone, AreInTheTablesOfX86AndNoOthers) {
  std::set<std::string> named;
  for (const Rule& row : everyRow()) {
    for (const SystemCall& call : row.calls()) named.insert(callName(call));
  }
  for (const std::string& name : kOfX86Alone) {
    EXPECT_EQ(named.contains(name), seccomp_arch_native() == SCMP_ARCH_X86_64) << name;
    EXPECT_LT(seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, name.c_str()), 0) << name;
  }
}

TEST(WhatStandsForThem, IsInTheTablesOfArm64) {
  std::set<std::string> named;
  for (const Rule& row : everyRow()) {
    for (const SystemCall& call : row.calls()) named.insert(callName(call));
  }
  for (const char* name : {"epoll_pwait", "mkdirat", "ppoll"}) EXPECT_TRUE(named.contains(name));
}

}  // namespace
}  // namespace vfiogate
