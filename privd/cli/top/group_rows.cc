#include "privd/cli/top/group_rows.h"

#include "cli/table.h"
#include "ipc/types/units.h"
#include "privd/cli/audit/record_view.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <optional>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRefusals = 5;
/// The line at the top, the headings, and the line of keys.
constexpr std::size_t kLinesAround = 3;

bool isMachine(const std::string& state) {
  return state == "bridge" || state == "platform";
}

/// Adds `word` unless it is there.
void addOnce(std::string& words, const std::string& word) {
  const std::string bounded = "," + words + ",";
  if (bounded.find("," + word + ",") != std::string::npos) return;
  words += (words.empty() ? "" : ",") + word;
}

/// What a row says of one unit of its group.
struct Part {
  std::string state;
  std::string driver;
  std::string name;
};

/// Null: the unit is gone.
std::optional<Part> partOf(const NodeView& view, const UnitId& unit) {
  if (const PciDevice* device = functionOf(view.snapshot, unit)) {
    return Part{stateOf(view.snapshot, *device), device->driver, view.briefName(*device)};
  }
  if (const MediatedDevice* device = mediatedOf(view.snapshot, unit)) {
    return Part{stateOf(view.snapshot, *device), device->driver, device->typeForPeople()};
  }
  return std::nullopt;
}

std::optional<GroupRow> rowOf(const NodeView& view, const RecordedHolders& holders,
                              const IommuGroup& group) {
  GroupRow row;
  row.group = group.id.number();
  for (const UnitId& member : unitsOf(group)) {
    const auto part = partOf(view, member);
    if (!part || isMachine(part->state)) continue;
    if (row.devices.empty()) row.name = jsonText(part->name);
    const bool isFirst = row.state.empty();
    if (isFirst || row.state == "passable" || row.state == "in-use") row.state = part->state;
    addOnce(row.drivers, part->driver.empty() ? "-" : jsonText(part->driver));
    addOnce(row.devices, member.str());
    const auto holder = holders.devices.find(member);
    if (holder == holders.devices.end() || !row.holder.empty()) continue;
    row.holder = holder->second.who;
    row.since = holder->second.since;
  }
  if (row.devices.empty()) return std::nullopt;
  return row;
}

std::string wordOf(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? jsonText(found->get<std::string>())
                                                     : std::string();
}

/// "2026-11-23T10:42:07Z"
std::string utcOf(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts = {};
  std::array<char, 32> text = {};
  gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::optional<std::int64_t> secondsIn(const std::string& time) {
  std::tm parts = {};
  const char* end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || *end != 'Z') return std::nullopt;
  return timegm(&parts);
}

Ink inkOf(const GroupRow& row) {
  if (!row.holder.empty() || row.state == "in-use") return Ink::kBusy;
  return row.state == "passable" ? Ink::kGood : Ink::kBad;
}

std::vector<Cell> cellsOf(const GroupRow& row, std::int64_t now) {
  const auto since = secondsIn(row.since);
  return {{std::to_string(row.group)},
          {row.state, inkOf(row)},
          {row.drivers},
          {row.holder.empty() ? "-" : row.holder},
          {since ? momentText(*since, now) : "-"},
          {since ? ageText(now - *since) : "-"},
          {row.devices},
          {row.name, Ink::kDim}};
}

std::string headOf(const TopPicture& picture) {
  std::size_t held = 0;
  std::size_t open = 0;
  std::size_t free = 0;
  for (const GroupRow& row : picture.rows) {
    if (!row.holder.empty()) {
      ++held;
    } else if (row.state == "in-use") {
      ++open;
    } else if (row.state == "passable") {
      ++free;
    }
  }
  const std::size_t other = picture.rows.size() - held - open - free;
  return momentText(picture.now, picture.now) + "  " + counted(picture.rows.size(), "group") +
         ": " + std::to_string(held) + " allocated, " + std::to_string(open) + " open by others, " +
         std::to_string(free) + " free, " + std::to_string(other) + " not to be passed through";
}

std::vector<std::string> tableLines(const TopPicture& picture, bool colours) {
  const std::vector<Column> columns = {{"GROUP"}, {"STATE"}, {"DRIVER"},  {"HOLDER"},
                                       {"SINCE"}, {"FOR"},   {"DEVICES"}, {"NAME"}};
  std::vector<std::vector<Cell>> cells;
  for (const GroupRow& row : picture.rows) cells.push_back(cellsOf(row, picture.now));
  const std::string table = formatTable(columns, cells, 0, colours);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    lines.push_back(table.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Cuts what is seen; escape sequences take no room, and none is left open.
std::string cutLine(const std::string& line, std::size_t width) {
  if (width == 0) return line;
  std::string cut;
  std::size_t seen = 0;
  bool isColoured = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\033') {
      const std::size_t end = line.find('m', at);
      const std::string sequence = line.substr(at, end - at + 1);
      isColoured = sequence != "\033[0m";
      cut += sequence;
      at = end;
    } else if (++seen <= width) {
      cut += line[at];
    } else {
      return cut + (isColoured ? "\033[0m" : "");
    }
  }
  return cut;
}

/// What stands below the table.
std::vector<std::string> linesBelow(const TopPicture& picture) {
  std::vector<std::string> lines;
  const std::size_t count = std::min(picture.refusals.size(), kMostRefusals);
  for (auto refusal = picture.refusals.end() - static_cast<std::ptrdiff_t>(count);
       refusal != picture.refusals.end(); ++refusal) {
    lines.push_back("refused " + momentText(refusal->time, picture.now) + "  " + refusal->text);
  }
  lines.insert(lines.end(), picture.remarks.begin(), picture.remarks.end());
  return lines;
}

/// Rows that fit beside all else; at least one.
std::size_t roomFor(const TopPicture& picture, std::size_t height) {
  if (height == 0) return picture.rows.size();
  const std::size_t around = kLinesAround + linesBelow(picture).size();
  return height > around + 1 ? height - around : 1;
}

std::string lineOf(const GroupRow& row) {
  return "group=" + std::to_string(row.group) + " state=" + row.state + " driver=" + row.drivers +
         " devices=" + row.devices +
         " holder=" + (row.holder.empty() ? "-" : "\"" + row.holder + "\"") +
         " since=" + (row.since.empty() ? "-" : row.since);
}

/// Of "2 for root uid=0, group 12: users", as privd's digest of refusals is noted; another text as
/// it is.
std::string digestText(const std::string& noted) {
  const std::size_t whom = noted.find(" for ");
  const std::size_t group = noted.find(", group ");
  const std::size_t reason = noted.find(": ", group == std::string::npos ? noted.size() : group);
  if (whom == std::string::npos || reason == std::string::npos || whom > group) return noted;
  const std::string count = noted.substr(0, whom);
  const std::string peer = noted.substr(whom + 5, group - whom - 5);
  const std::string number = noted.substr(group + 8, reason - group - 8);
  const std::string what = number == "none" ? "a change" : "a change of group " + number;
  return what + " for " + peer + ", " + (count == "1" ? "once" : count + " times") +
         noted.substr(reason);
}

}  // namespace

std::vector<GroupRow> rowsOf(const NodeView& view, const RecordedHolders& holders) {
  std::vector<GroupRow> rows;
  for (const auto& [id, group] : view.snapshot.groups) {
    if (auto row = rowOf(view, holders, group)) rows.push_back(*std::move(row));
  }
  return rows;
}

std::vector<Refusal> refusalsIn(const std::vector<std::string>& lines) {
  std::vector<Refusal> refusals;
  for (const std::string& line : lines) {
    const auto record = parseRecord(line);
    if (!record) continue;
    const bool isNote = wordOf(*record, "operation") == "refusals";
    const bool isOutcome = wordOf(*record, "outcome") == "refused";
    if (!isNote && !isOutcome) continue;
    refusals.push_back({wordOf(*record, "time").substr(0, 19) + "Z",
                        isNote ? digestText(wordOf(*record, "text")) : wordOf(*record, "error")});
  }
  return refusals;
}

std::size_t lastFirst(const TopPicture& picture, std::size_t height) {
  const std::size_t room = roomFor(picture, height);
  return picture.rows.size() > room ? picture.rows.size() - room : 0;
}

std::vector<std::string> linesOf(const TopPicture& picture, const Screen& screen) {
  std::vector<std::string> lines{headOf(picture)};
  const std::vector<std::string> table = tableLines(picture, screen.colours);
  lines.push_back(table[0]);
  const std::size_t room = roomFor(picture, screen.height);
  const std::size_t first = std::min(screen.first, lastFirst(picture, screen.height));
  const std::size_t end = std::min(picture.rows.size(), first + room);
  for (std::size_t i = first; i < end; ++i) lines.push_back(table[i + 1]);
  for (const std::string& line : linesBelow(picture)) lines.push_back(line);
  if (screen.height > 0) {
    const bool isWhole = end - first == picture.rows.size();
    lines.push_back("q quits" + (isWhole ? std::string()
                                         : ", up and down scroll: " + std::to_string(first + 1) +
                                               " to " + std::to_string(end) + " of " +
                                               std::to_string(picture.rows.size())));
    if (lines.size() > screen.height) lines.resize(screen.height);
  }
  for (std::string& line : lines) line = cutLine(line, screen.width);
  return lines;
}

std::string changesText(const TopPicture& before, const TopPicture& after) {
  const std::string time = utcOf(after.now) + " ";
  std::string text;
  std::map<std::uint32_t, const GroupRow*> gone;
  for (const GroupRow& row : before.rows) gone.emplace(row.group, &row);
  for (const GroupRow& row : after.rows) {
    const auto old = gone.find(row.group);
    const bool isSame = old != gone.end() && *old->second == row;
    if (old != gone.end()) gone.erase(old);
    if (!isSame) text += time + lineOf(row) + "\n";
  }
  for (const auto& [group, row] : gone) text += time + "group=" + std::to_string(group) + " gone\n";
  for (const Refusal& refusal : after.refusals) {
    if (std::ranges::find(before.refusals, refusal) != before.refusals.end()) continue;
    text += refusal.time + " refused " + refusal.text + "\n";
  }
  return text;
}

std::string ageText(std::int64_t seconds) {
  const auto two = [](std::int64_t large, const char* unit, std::int64_t small, const char* part) {
    return std::to_string(large) + unit + (small > 0 ? std::to_string(small) + part : "");
  };
  if (seconds < 60) return std::to_string(std::max<std::int64_t>(seconds, 0)) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 86'400) return two(seconds / 3600, "h", seconds / 60 % 60, "m");
  return two(seconds / 86'400, "d", seconds / 3600 % 24, "h");
}

}  // namespace vfiogate
