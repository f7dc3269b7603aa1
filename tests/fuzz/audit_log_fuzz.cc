// Whatever text lies where the audit log should be: reading it says so in words; and of a log that
// privd could have written no change of a single byte passes for it.

#include "privd/audit/audit_record.h"
#include "privd/audit/record_end.h"
#include "privd/cli/audit/log_chain.h"
#include "privd/cli/audit/record_view.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::size_t kMostRecords = 8;

ChainReport verified(std::string_view text) {
  std::vector<ChainLine> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty()) lines.push_back(examine(line));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return verifyChain(lines, std::nullopt);
}

void readAll(std::string_view text) {
  const auto last = lastRecordOf(text);
  if (last && !hashIsOwn(last->end)) std::abort();
  RecordPicker picker({.since = "", .device = Bdf::make(0, 1, 0, 0).value()});
  for (std::size_t newline = 0; newline != std::string_view::npos;) {
    newline = text.find('\n');
    const auto record = parseRecord(text.substr(0, newline));
    if (record) picker.wants(*record);
    if (record && recordRow(*record, 0).size() != recordColumns().size()) std::abort();
    text.remove_prefix(newline == std::string_view::npos ? 0 : newline + 1);
  }
}

/// A log of notes that say what `text` says.
std::string logOf(std::string_view text) {
  std::string log;
  std::string previous(kNoHash);
  for (std::uint64_t sequence = 1; sequence <= kMostRecords && !text.empty(); ++sequence) {
    const std::string_view part = text.substr(0, text.find('\n'));
    const AuditNote note{.peer = {}, .operation = "x", .devices = {}, .text = std::string(part)};
    log += recordLine({sequence, 1, 2, std::string(part), previous}, fieldsOf(note));
    previous = lastRecordOf(log)->end.hash;
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return log;
}

void checkWritten(std::string_view text) {
  const std::string log = logOf(text);
  if (verified(log).bad) std::abort();
  if (log.empty()) return;
  std::string changed = log;
  const std::size_t at = std::hash<std::string_view>{}(text) % log.size();
  changed[at] = static_cast<char>(changed[at] ^ 1);
  // The newline at the very end belongs to no record.
  if (at + 1 < log.size() && !verified(changed).bad) std::abort();
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = vfiogate::verified(text);
  if (report.bad && report.bad->why.empty()) std::abort();
  vfiogate::readAll(text);
  vfiogate::checkWritten(text);
  return 0;
}
