#include "privd/cli/audit/record_view.h"

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestCell = 200;

const Json& memberOf(const Json& record, const char* name) {
  static const Json kAbsent;
  const auto found = record.is_object() ? record.find(name) : record.end();
  return record.is_object() && found != record.end() ? *found : kAbsent;
}

/// What a terminal may be shown.
std::string shown(const Json& value) {
  if (value.is_null()) return "-";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (value.is_string()) text = text.substr(1, text.size() - 2);
  return text.size() > kLongestCell ? text.substr(0, kLongestCell) + "..." : text;
}

std::string wordOf(const Json& record, const char* name) {
  const Json& value = memberOf(record, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

const Json& addressOf(const Json& device) {
  return device.is_object() ? memberOf(device, "address") : device;
}

std::string devicesText(const Json& record) {
  std::string text;
  for (const Json& device : memberOf(record, "devices")) {
    const std::string driver = wordOf(device, "driver");
    text += (text.empty() ? "" : ", ") + shown(addressOf(device)) +
            (driver.empty() ? "" : " (" + shown(memberOf(device, "driver")) + ")");
  }
  return text.empty() ? "-" : text;
}

std::string whoText(const Json& record) {
  const Json& peer = memberOf(record, "peer");
  if (!peer.is_object()) return "-";
  const Json& pid = memberOf(peer, "pid");
  return shown(memberOf(peer, "role")) + (pid.is_null() ? "" : " pid " + shown(pid));
}

Cell whatCell(const Json& record, const std::string& kind) {
  if (kind == "intent") {
    std::string text = shown(memberOf(record, "operation")) + ": " +
                       std::to_string(memberOf(record, "writes").size()) + " writes";
    for (const Json& guard : memberOf(record, "overridden")) {
      text += ", overrides " + shown(memberOf(guard, "guard")) + " of " + shown(addressOf(guard));
    }
    return {text};
  }
  if (kind == "outcome") {
    const std::string outcome = wordOf(record, "outcome");
    const bool isGood = outcome == "done" || outcome == "already-so";
    const std::string error = wordOf(record, "error");
    return {"of " + shown(memberOf(record, "intent")) + ": " + shown(memberOf(record, "outcome")) +
                (error.empty() ? "" : ": " + shown(memberOf(record, "error"))),
            isGood ? Ink::kGood : Ink::kBad};
  }
  if (kind == "note") {
    const std::string text = wordOf(record, "text");
    return {shown(memberOf(record, "operation")) +
            (text.empty() ? "" : ": " + shown(memberOf(record, "text")))};
  }
  if (kind == "recovered") {
    return {shown(memberOf(record, "reason")) + ", " + shown(memberOf(record, "bytes")) + " bytes",
            Ink::kBad};
  }
  if (kind != "rotated") return {"-"};
  const std::string continues = shown(memberOf(record, "continues"));
  return {"goes on from record " + continues.substr(0, continues.find(':')), Ink::kDim};
}

}  // namespace

std::optional<Json> parseRecord(std::string_view line) {
  // Nothing that privd writes is deep; a line that is could exhaust the stack.
  const auto isShallow = [](int depth, Json::parse_event_t, Json&) { return depth < 16; };
  Json record = Json::parse(line, isShallow, false);
  if (!record.is_object()) return std::nullopt;
  return record;
}

bool RecordPicker::isAboutDevice(const Json& record) const {
  const Json& intent = memberOf(record, "intent");
  if (intent.is_number_unsigned() && intents_.contains(intent.get<std::uint64_t>())) return true;
  for (const Json& device : memberOf(record, "devices")) {
    const Json& address = addressOf(device);
    if (address.is_string() && address.get<std::string>() == filter_.device->str()) return true;
  }
  return false;
}

bool RecordPicker::wants(const Json& record) {
  if (filter_.device) {
    if (!isAboutDevice(record)) return false;
    const Json& sequence = memberOf(record, "seq");
    if (sequence.is_number_unsigned()) intents_.insert(sequence.get<std::uint64_t>());
  }
  return wordOf(record, "time") >= filter_.since;
}

std::vector<Column> recordColumns() {
  return {{"SEQ"}, {"TIME"}, {"KIND"}, {"WHO"}, {"GROUP"}, {"DEVICES"}, {"WHAT"}};
}

std::vector<Cell> recordRow(const Json& record, std::int64_t now) {
  const std::string kind = wordOf(record, "kind");
  return {{shown(memberOf(record, "seq"))},
          {momentText(shown(memberOf(record, "time")), now)},
          {shown(memberOf(record, "kind"))},
          {whoText(record)},
          {shown(memberOf(record, "group"))},
          {devicesText(record)},
          whatCell(record, kind)};
}

std::vector<Cell> brokenRow(const std::string& where) {
  return {{"-"}, {"-"}, {"no record", Ink::kBad}, {"-"}, {"-"}, {"-"}, {where, Ink::kBad}};
}

}  // namespace vfiogate
