#include "seccomp/print_profile.h"

#include "seccomp/print_policy.h"
#include "seccomp/startup_rules.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

#if defined(__aarch64__)
constexpr const char* kArchitecture = "SCMP_ARCH_AARCH64";
#else
constexpr const char* kArchitecture = "SCMP_ARCH_X86_64";
#endif

// Rows here have one call each: an entry of a profile is about one.
bool sameCall(const Rule& row, const Rule& other) {
  return row.isFor(other.calls().front().number);
}

bool sameArguments(const Rule& row, const Rule& other) {
  const auto same = [](const ArgCheck& one, const ArgCheck& two) {
    return one.index == two.index && one.mask == two.mask && one.value == two.value &&
           one.ownPid == two.ownPid;
  };
  return std::ranges::equal(row.args(), other.args(), same);
}

/// True if `row` adds nothing to what `other` says, which stands elsewhere in the profile.
bool isCoveredBy(const Rule& row, const Rule& other) {
  if (!sameCall(row, other) || other.error() != 0) return false;
  return row.error() != 0 || (other.args().empty() && !row.args().empty());
}

Json conditionsOf(const Rule& row) {
  Json conditions = Json::array();
  for (const ArgCheck& arg : row.args()) {
    if (arg.ownPid) continue;
    conditions.push_back({{"index", arg.index},
                          {"value", arg.mask},
                          {"valueTwo", arg.value},
                          {"op", "SCMP_CMP_MASKED_EQ"}});
  }
  return conditions;
}

Json entryOf(const Rule& row) {
  Json entry{{"names", {callNames(row)}},
             {"action", row.error() == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO"}};
  if (row.error() != 0) entry["errnoRet"] = row.error();
  Json conditions = conditionsOf(row);
  if (!conditions.empty()) entry["args"] = std::move(conditions);
  entry["comment"] = row.reason();
  return entry;
}

}  // namespace

std::vector<Rule> profileRows(const Policy& policy) {
  std::vector<Rule> all;
  const auto add = [&all](std::span<const Rule> table) {
    for (const Rule& row : table) {
      for (const SystemCall& call : row.calls()) all.push_back(row.only(call));
    }
  };
  add(kRuntimeRules);
  add(kThreadMemoryRules);
  add(kStartupRules);
  add(policy.startup);
  add(policy.table);
  for (const ProcessPolicy& other : policy.others) add(other.table);
  std::vector<Rule> rows;
  for (const Rule& row : all) {
    const bool covered =
        std::ranges::any_of(all, [&row](const Rule& other) { return isCoveredBy(row, other); });
    const bool twice = std::ranges::any_of(rows, [&row](const Rule& other) {
      return sameCall(row, other) && sameArguments(row, other);
    });
    if (!covered && !twice) rows.push_back(row);
  }
  return rows;
}

std::string profileAsOci(std::span<const Rule> rows) {
  Json calls = Json::array();
  for (const Rule& row : rows) calls.push_back(entryOf(row));
  const Json profile{{"defaultAction", "SCMP_ACT_ERRNO"},
                     {"architectures", {kArchitecture}},
                     {"syscalls", std::move(calls)}};
  return profile.dump(2) + "\n";
}

}  // namespace vfiogate
