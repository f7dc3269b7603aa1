#pragma once
// Entries, and audit logs as text.

#include "privd/audit/audit_log.h"
#include "privd/cli/audit/log_chain.h"
#include "sim/base/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate::test {

inline const Bdf kCard = Bdf::parse("0000:01:00.0").value();

inline AuditIntent bindCard() {
  return {.peer = {"root", 0, 4711},
          .operation = "bind",
          .group = 7,
          .devices = {{kCard, "nvidia", ""}},
          .writes = {{kCard, "bus/pci/devices/0000:01:00.0/driver_override", "vfio-pci"},
                     {kCard, "bus/pci/drivers/nvidia/unbind", "0000:01:00.0"},
                     {kCard, "bus/pci/drivers_probe", "0000:01:00.0"}},
          .overridden = {{.guard = Guard::kBootVga, .address = kCard, .reason = "it shows"}}};
}

inline AuditOutcome doneOf(std::uint64_t intent) {
  return {.intent = intent, .outcome = ChangeOutcome::kDone, .error = "", .differences = {}};
}

inline AuditNote noteOf(std::string text) {
  return {.peer = {"privd", 0, 1}, .operation = "started", .devices = {}, .text = std::move(text)};
}

inline std::string textOf(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

inline void putText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline ChainReport verifyLines(const std::vector<std::string>& texts,
                               const std::optional<AuditHead>& anchor = std::nullopt) {
  std::vector<ChainLine> lines;
  for (const std::string& text : texts) {
    if (!text.empty()) lines.push_back(examine(text));
  }
  return verifyChain(lines, anchor);
}

inline ChainReport verifyText(const std::string& text) {
  return verifyLines(linesOf(text));
}

/// All files of the log at `path`, the oldest first, in one.
inline std::string wholeLog(const std::string& path) {
  std::string text;
  for (unsigned number = AuditLog::kKept; number > 0; --number) {
    text += textOf(path + "." + std::to_string(number));
  }
  return text + textOf(path);
}

/// "" for a whole log, else what is said of it.
inline std::string faultOf(const ChainReport& report) {
  if (!report.bad) return "";
  return std::string(nameOf(report.bad->fault)) + " " + std::to_string(report.bad->sequence) +
         ": " + report.bad->why;
}

/// In memory where that is possible: an fsync costs nothing there.
class LogDirectory {
public:
  std::string path() const { return dir_ / "audit.jsonl"; }
  std::string rotated(unsigned number) const { return path() + "." + std::to_string(number); }
  std::string operator/(const std::string& name) const { return dir_ / name; }

  Result<AuditLog, AuditFailure> tryOpen(AuditSettings settings = {}) const {
    return AuditLog::open(path(), "7a1c", std::move(settings));
  }
  AuditLog open(AuditSettings settings = {}) const { return tryOpen(std::move(settings)).value(); }

private:
  TempDir dir_{std::filesystem::is_directory("/dev/shm") ? "/dev/shm"
                                                         : std::filesystem::temp_directory_path()};
};

}  // namespace vfiogate::test
