#include "privd/cli/doctor/report.h"

#include "cli/table.h"
#include "privd/cli/base/device_json.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr int kReportVersion = 1;
constexpr std::array kLevels{Level::kProblem, Level::kWarning, Level::kUnknown, Level::kInfo,
                             Level::kOk};

Ink inkOf(Level level) {
  switch (level) {
    case Level::kOk:
      return Ink::kGood;
    case Level::kInfo:
      return Ink::kDim;
    case Level::kUnknown:
    case Level::kWarning:
      return Ink::kBusy;
    case Level::kProblem:
      return Ink::kBad;
  }
  return Ink::kPlain;
}

std::size_t countOf(const Findings& findings, Level level) {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

nlohmann::ordered_json orNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(jsonText(text));
}

}  // namespace

std::string reportText(const Findings& findings, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const Finding& finding : findings) {
    const std::string about = finding.subject.empty() ? "" : finding.subject + ": ";
    rows.push_back({{std::string(nameOf(finding.level)), inkOf(finding.level)},
                    {std::string(codeOf(finding.check))},
                    {jsonText(about + finding.what)}});
    if (finding.level == Level::kOk) continue;
    if (!finding.evidence.empty()) {
      rows.push_back({{""}, {""}, {"seen: " + jsonText(finding.evidence), Ink::kDim}});
    }
    if (!finding.fix.empty()) rows.push_back({{""}, {""}, {"do:   " + jsonText(finding.fix)}});
  }
  std::string text = formatTable({{"LEVEL"}, {"CHECK"}, {"FINDING"}}, rows, 0, colours);
  std::string sum;
  for (const Level level : kLevels) {
    sum += (sum.empty() ? "" : ", ") + std::to_string(countOf(findings, level)) + " " +
           std::string(nameOf(level));
  }
  return text + sum + "\n";
}

nlohmann::ordered_json reportJson(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"code", codeOf(finding.check)},
                    {"level", nameOf(finding.level)},
                    {"subject", orNull(finding.subject)},
                    {"what", jsonText(finding.what)},
                    {"evidence", orNull(finding.evidence)},
                    {"fix", orNull(finding.fix)}});
  }
  nlohmann::ordered_json counts;
  for (const Level level : kLevels) counts[std::string(nameOf(level))] = countOf(findings, level);
  return {{"version", kReportVersion}, {"counts", counts}, {"findings", list}};
}

int exitCodeOf(const Findings& findings) {
  return countOf(findings, Level::kProblem) == 0 ? 0 : 1;
}

}  // namespace vfiogate
