#include "privd/cli/binding/change_text.h"

#include "cli/table.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/recorded_holders.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr int kChangeVersion = 1;
constexpr const char* kIndent = "  ";

using Json = nlohmann::ordered_json;

/// What is written, as it can be shown: the kernel takes an empty line for "none".
std::string shown(const std::string& text) {
  return text == "\n" ? "(empty line: none)" : jsonText(text);
}

std::string planOf(const ChangeReport& report, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const SysfsWrite& write : report.writes) {
    rows.push_back({{std::to_string(rows.size() + 1), Ink::kDim},
                    {write.address.str()},
                    {jsonText(write.attribute)},
                    {shown(write.text)}});
  }
  if (rows.empty()) return {};
  return formatTable({{"ORDER"}, {"DEVICE"}, {"ATTRIBUTE"}, {"TEXT"}}, rows, 0, colours);
}

std::string leftAloneOf(const ChangeReport& report) {
  std::string text;
  for (const LeftAlone& left : report.leftAlone) {
    text += kIndent + left.address.str() + "  " + jsonText(left.why) + "\n";
  }
  return text.empty() ? text : "Left alone:\n" + text;
}

/// Who has the group, in the place of the line in the record of allocations that says so.
std::string inWords(const std::string& text) {
  constexpr std::string_view kAllocated = "plugind has allocated its group: ";
  const std::size_t found = text.find(kAllocated);
  if (found == std::string::npos) return text;
  std::string note = text.substr(found + kAllocated.size());
  std::ranges::replace(note, ';', '\n');
  const RecordedHolder holder = holderInNote(note);
  return text.substr(0, found) + "plugind has allocated its group to " + wordsFor(holder) +
         (holder.resource.empty() ? "" : ", as " + holder.resource);
}

std::string headOf(const Objection& objection) {
  return kIndent + objection.address.str() + "  " + std::string(nameOf(objection.guard)) +
         (objection.verdict == Verdict::kUnknown ? " (not known)" : "") + ": " +
         inWords(jsonText(objection.reason)) + "\n";
}

std::string overriddenOf(const ChangeReport& report) {
  std::string text;
  for (const Objection& objection : report.objections) {
    if (objection.overridden) text += headOf(objection);
  }
  return text.empty() ? text : "Overridden:\n" + text;
}

std::string standingOf(const ChangeReport& report, const HoldersOf& holders) {
  const std::string below(16, ' ');
  std::string text;
  for (const Objection& objection : report.objections) {
    if (objection.overridden) continue;
    text += headOf(objection);
    const auto known = holders.find(objection.address);
    if (known != holders.end()) {
      for (const Holder& holder : known->second.found) text += below + wordsFor(holder) + "\n";
      if (known->second.hidden > 0) {
        text += below + std::to_string(known->second.hidden) +
                " processes could not be looked into: only root may\n";
      }
    }
    if (!objection.lift.empty()) text += below + "to lift it: " + jsonText(objection.lift) + "\n";
  }
  return text;
}

std::string recordOf(const ChangeReport& report) {
  return report.auditSequence == 0 ? std::string()
                                   : " (audit record " + std::to_string(report.auditSequence) + ")";
}

/// The last line of what went well.
std::string goodEnd(const ChangeOrder& order, const ChangeReport& report) {
  const std::size_t writes = report.writes.size();
  const std::string count = std::to_string(writes) + (writes == 1 ? " write" : " writes");
  if (report.outcome == ChangeOutcome::kAlreadySo) return "Already so: nothing to do.\n";
  if (order.dryRun) return "Dry run: nothing was written; it would take " + count + ".\n";
  return "Done: " + count + recordOf(report) + ".\n";
}

/// The first line of what did not.
std::string badHead(const ChangeOrder& order, const ChangeReport& report) {
  const std::string start = std::string("privd ") + nameOf(order.kind) + ": ";
  switch (report.outcome) {
    case ChangeOutcome::kDone:
    case ChangeOutcome::kAlreadySo:
      return {};
    case ChangeOutcome::kRefused:
      return start + (order.dryRun ? "would be refused" : "refused, nothing was written") +
             recordOf(report);
    case ChangeOutcome::kFailed:
      return start + "failed, everything is as it was found" + recordOf(report);
    case ChangeOutcome::kLeftChanged:
      return start + "failed, and not everything is as it was found" + recordOf(report);
    case ChangeOutcome::kStuck:
      return start +
             "stuck: the kernel has not come back from a write, which may still take place" +
             recordOf(report);
  }
  return start;
}

Json objectionsJson(const ChangeReport& report, const HoldersOf& holders) {
  Json list = Json::array();
  for (const Objection& objection : report.objections) {
    const auto known = holders.find(objection.address);
    list.push_back(
        {{"guard", nameOf(objection.guard)},
         {"address", objection.address.str()},
         {"verdict", objection.verdict == Verdict::kUnknown ? "unknown" : "blocked"},
         {"reason", objection.reason},
         {"lift", objection.lift},
         {"overridden", objection.overridden},
         {"openedBy", known == holders.end() ? Json::array() : holdersJson(known->second)}});
  }
  return list;
}

}  // namespace

const char* nameOf(ChangeKind kind) {
  return kind == ChangeKind::kBind ? "bind" : "unbind";
}

Printed changeText(const ChangeOrder& order, const ChangeReport& report, const HoldersOf& holders,
                   const ReportStyle& style) {
  Printed printed;
  const std::string head = badHead(order, report);
  const bool plan = style.plan || order.dryRun;
  if (plan) printed.out = planOf(report, style.colours);
  if (plan || head.empty()) printed.out += leftAloneOf(report);
  printed.out += overriddenOf(report);
  for (const std::string& remark : report.remarks) printed.out += jsonText(remark) + "\n";
  if (head.empty()) {
    printed.out += goodEnd(order, report);
    if (!report.error.empty()) printed.err = "privd: " + jsonText(report.error) + "\n";
    return printed;
  }
  printed.errFirst = true;
  printed.err = head + (report.error.empty() ? "" : ": " + inWords(jsonText(report.error))) + "\n" +
                standingOf(report, holders);
  if (!report.differences.empty()) printed.err += "Not as it was found:\n";
  for (const std::string& difference : report.differences) {
    printed.err += kIndent + jsonText(difference) + "\n";
  }
  return printed;
}

Json changeJson(const ChangeOrder& order, const ChangeReport& report, const HoldersOf& holders) {
  Json writes = Json::array();
  for (const SysfsWrite& write : report.writes) {
    writes.push_back(
        {{"address", write.address.str()}, {"attribute", write.attribute}, {"text", write.text}});
  }
  Json leftAlone = Json::array();
  for (const LeftAlone& left : report.leftAlone) {
    leftAlone.push_back({{"address", left.address.str()}, {"why", left.why}});
  }
  return {
      {"version", kChangeVersion},
      {"kind", nameOf(order.kind)},
      {"dryRun", order.dryRun},
      {"outcome", nameOf(report.outcome)},
      {"error", report.error.empty() ? Json(nullptr) : Json(report.error)},
      {"writes", writes},
      {"leftAlone", leftAlone},
      {"objections", objectionsJson(report, holders)},
      {"differences", report.differences},
      {"remarks", report.remarks},
      {"auditSequence", report.auditSequence == 0 ? Json(nullptr) : Json(report.auditSequence)}};
}

}  // namespace vfiogate
