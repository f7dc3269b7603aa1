#include "seccomp/print_policy.h"

#include <nlohmann/json.hpp>

#include <seccomp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

std::string action(const Rule& rule) {
  if (rule.error() == 0) return "allow";
  const char* name = strerrorname_np(rule.error());
  return "errno " + (name != nullptr ? std::string(name) : std::to_string(rule.error()));
}

std::string arguments(const Rule& rule) {
  std::string text;
  for (const ArgCheck& arg : rule.args()) {
    if (!text.empty()) text += ", ";
    text += arg.text;
  }
  return text.empty() ? "any" : text;
}

std::string reason(const Rule& rule) {
  std::string text(rule.reason());
  std::string makers;
  for (const SystemCall& call : rule.calls()) {
    if (call.madeBy.empty()) continue;
    makers += (makers.empty() ? "" : "; ") + callName(call) + ": " + std::string(call.madeBy);
  }
  if (!makers.empty()) text += " (" + makers + ")";
  if (rule.isDefensive()) text += " (defensive: needed if " + std::string(rule.condition()) + ")";
  return text;
}

using Line = std::vector<std::string>;

std::string aligned(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    for (std::size_t column = 0; column + 1 < line.size(); ++column) {
      std::size_t width = 0;
      for (const Line& other : lines) width = std::max(width, other[column].size());
      text += line[column] + std::string(width - line[column].size() + 2, ' ');
    }
    text += line.back() + "\n";
  }
  return text;
}

Json callJson(const SystemCall& call) {
  return {{"call", callName(call)},
          {"number", call.number},
          {"madeBy", call.madeBy.empty() ? Json(nullptr) : Json(call.madeBy)}};
}

Json policyJson(std::string_view process, std::span<const Rule> table) {
  Json rows = Json::array();
  for (const Rule& rule : table) {
    Json args = Json::array();
    for (const ArgCheck& arg : rule.args()) {
      Json value = arg.ownPid ? Json("own pid") : Json(arg.value);
      args.push_back({{"index", arg.index},
                      {"mask", arg.mask},
                      {"value", std::move(value)},
                      {"text", arg.text}});
    }
    Json row = callJson(rule.calls().front());
    row["alternatives"] = Json::array();
    for (const SystemCall& call : rule.calls().subspan(1))
      row["alternatives"].push_back(callJson(call));
    row.update({{"arguments", std::move(args)},
                {"action", action(rule)},
                {"reason", rule.reason()},
                {"defensive", rule.isDefensive() ? Json(rule.condition()) : Json(nullptr)}});
    rows.push_back(std::move(row));
  }
  return {{"process", process},
          {"default", "kill process"},
          {"foreignArchitecture", "kill process"},
          {"rows", std::move(rows)}};
}

std::string policyText(std::string_view process, std::span<const Rule> table) {
  std::vector<Line> lines{{"CALL", "ARGUMENTS", "ACTION", "REASON"}};
  for (const Rule& rule : table) {
    lines.push_back({callNames(rule), arguments(rule), action(rule), reason(rule)});
  }
  return std::string(process) +
         ": every other call, and every call of a foreign architecture or of x32, kills the "
         "process.\n\n" +
         aligned(lines);
}

}  // namespace

std::string callName(const SystemCall& call) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call.number), &std::free);
  return name ? name.get() : std::to_string(call.number);
}

std::string callNames(const Rule& rule) {
  std::string names;
  for (const SystemCall& call : rule.calls())
    names += (names.empty() ? "" : " or ") + callName(call);
  return names;
}

std::string policyAs(std::string_view form, const Policy& policy) {
  if (form == "oci") return profileAsOci(profileRows(policy));
  if (form == "json") {
    Json whole = policyJson(policy.process, policy.table);
    for (const ProcessPolicy& other : policy.others) {
      whole[std::string(other.key)] = policyJson(other.process, other.table);
    }
    return whole.dump(2) + "\n";
  }
  std::string text = policyText(policy.process, policy.table);
  for (const ProcessPolicy& other : policy.others) {
    text += "\n" + policyText(other.process, other.table);
  }
  return text;
}

}  // namespace vfiogate
