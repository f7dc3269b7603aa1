#include "privd/audit/audit_record.h"

#include "privd/base/sha256.h"

#include <array>
#include <chrono>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestList = std::size_t{256} << 10U;

std::string inQuotes(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text.substr(0, kLongestText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      json += c;
    } else {
      json += "\\u00";
      json += kDigits[byte >> 4U];
      json += kDigits[byte & 0xfU];
    }
  }
  return json + (text.size() > kLongestText ? "...\"" : "\"");
}

std::string member(std::string_view name, std::string_view json) {
  return "\"" + std::string(name) + "\":" + std::string(json);
}

std::string textMember(std::string_view name, std::string_view text) {
  return member(name, inQuotes(text));
}

template <typename Item, typename ToJson>
std::string listOf(const std::vector<Item>& items, ToJson toJson) {
  std::string json = "[";
  for (const Item& item : items) json += (json.size() == 1 ? "" : ",") + toJson(item);
  return json + "]";
}

std::string textsOf(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) json += ",";
    if (json.size() > kLongestList) {
      json += inQuotes("... and " + std::to_string(texts.size() - i) + " more");
      break;
    }
    json += inQuotes(texts[i]);
  }
  return json + "]";
}

std::string beginningOf(std::string_view kind, const AuditPeer& peer, std::string_view operation) {
  return textMember("kind", kind) + ",\"peer\":{" + textMember("role", peer.role) + "," +
         member("uid", std::to_string(peer.uid)) + "," +
         member("pid", peer.pid == 0 ? "null" : std::to_string(peer.pid)) + "}," +
         textMember("operation", operation);
}

std::string deviceJson(const AuditDevice& device) {
  return "{" + textMember("address", device.address.str()) + "," +
         textMember("driver", device.driver) + "," +
         textMember("driver_override", device.driverOverride) + "}";
}

std::string writeJson(const SysfsWrite& write) {
  return "{" + textMember("address", write.address.str()) + "," +
         textMember("attribute", write.attribute) + "," + textMember("text", write.text) + "}";
}

std::string objectionJson(const Objection& objection) {
  return "{" + textMember("guard", nameOf(objection.guard)) + "," +
         textMember("address", objection.address.str()) + "," +
         textMember("verdict", objection.verdict == Verdict::kBlocked ? "blocked" : "unknown") +
         "," + textMember("reason", objection.reason) + "}";
}

std::string padded(std::int64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

}  // namespace

// Without the C library's zones: those open files.
std::string utcText(std::int64_t utcNs) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds(utcNs)};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return padded(int{date.year()}, 4) + "-" + padded(unsigned{date.month()}, 2) + "-" +
         padded(unsigned{date.day()}, 2) + "T" + padded(clock.hours().count(), 2) + ":" +
         padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2) + "." +
         padded(clock.subseconds().count(), 9) + "Z";
}

std::string_view nameOf(Damage damage) {
  static constexpr std::array<std::string_view, 5> kNames{"torn", "damaged", "cut", "grown",
                                                          "replaced"};
  return kNames.at(static_cast<std::size_t>(damage));
}

std::string fieldsOf(const AuditIntent& intent) {
  return beginningOf("intent", intent.peer, intent.operation) + "," +
         member("group", intent.group ? std::to_string(*intent.group) : "null") + "," +
         member("devices", listOf(intent.devices, deviceJson)) + "," +
         member("writes", listOf(intent.writes, writeJson)) + "," +
         member("undo", listOf(intent.undo, writeJson)) + "," +
         member("overridden", listOf(intent.overridden, objectionJson));
}

std::string fieldsOf(const AuditOutcome& outcome) {
  return textMember("kind", "outcome") + "," + member("intent", std::to_string(outcome.intent)) +
         "," + textMember("outcome", nameOf(outcome.outcome)) + "," +
         textMember("error", outcome.error) + "," +
         member("differences", textsOf(outcome.differences));
}

std::string fieldsOf(const AuditNote& note) {
  const auto deviceName = [](const UnitId& device) { return inQuotes(device.str()); };
  return beginningOf("note", note.peer, note.operation) + "," +
         member("devices", listOf(note.devices, deviceName)) + "," + textMember("text", note.text);
}

std::string recoveredFields(Damage damage, std::uint64_t bytes) {
  return textMember("kind", "recovered") + "," + textMember("reason", nameOf(damage)) + "," +
         member("bytes", std::to_string(bytes));
}

std::string rotatedFields(const AuditHead& last) {
  return textMember("kind", "rotated") + "," +
         textMember("continues", std::to_string(last.sequence) + ":" + last.hash);
}

std::string recordLine(const AuditStamp& stamp, std::string_view fields) {
  const std::string line = "{" + member("seq", std::to_string(stamp.sequence)) + "," +
                           textMember("time", utcText(stamp.utcNs)) + "," +
                           member("monotonic_ns", std::to_string(stamp.monotonicNs)) + "," +
                           textMember("boot", stamp.bootId) + "," + std::string(fields) + "," +
                           textMember("prev", stamp.previous);
  return line + "," + textMember("hash", sha256Digits(line)) + "}\n";
}

}  // namespace vfiogate
