// The hardware of a claim in its line of a note, by which it is known again after a restart.

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "plugind/core/ledger/state/allocation_note.h"
#include "plugind/core/ledger/state/fingerprint.h"

namespace vfiogate {
namespace {

constexpr std::array<std::pair<char, std::string_view>, 3> kEscapes{
    {{'%', "%25"}, {',', "%2C"}, {'/', "%2F"}}};

std::string escaped(const std::string& word) {
  std::string text;
  for (const char c : word) {
    const auto* const escape =
        std::ranges::find(kEscapes, c, &decltype(kEscapes)::value_type::first);
    text += escape == kEscapes.end() ? std::string(1, c) : std::string(escape->second);
  }
  return text;
}

/// A word of a fingerprint. Null: it is none.
std::optional<std::string> unescaped(std::string_view text) {
  std::string word;
  while (!text.empty()) {
    const auto* const escape = std::ranges::find_if(
        kEscapes, [text](const auto& one) { return text.starts_with(one.second); });
    const char c = escape == kEscapes.end() ? text.front() : escape->first;
    const bool plain = c > ' ' && c <= '~' && c != ';';
    if (!plain || (c == '%' && escape == kEscapes.end())) return std::nullopt;
    word += c;
    text.remove_prefix(escape == kEscapes.end() ? 1 : escape->second.size());
  }
  return word;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts{text.substr(0, text.find(mark))};
  while (parts.back().size() < text.size()) {
    text.remove_prefix(parts.back().size() + 1);
    parts.push_back(text.substr(0, text.find(mark)));
  }
  return parts;
}

/// Of one device.
std::string notedText(const std::string& hardware, std::size_t share) {
  if (hardware == "gone") return {};
  std::string text;
  std::istringstream words(hardware);
  for (std::string word; words >> word;) {
    const std::string next = (text.empty() ? "" : ",") + escaped(word);
    if (text.size() + next.size() >= share) break;
    text += next;
  }
  return text;
}

/// "10de:2684 class=030000": the ids or "mdev", then fields.
std::optional<std::string> hardwareFrom(std::string_view noted) {
  std::string hardware;
  for (const std::string_view part : split(noted, ',')) {
    const auto word = unescaped(part);
    const std::ptrdiff_t fields = hardware.empty() ? 0 : 1;
    if (!word || word->empty() || std::ranges::count(*word, '=') != fields) return std::nullopt;
    hardware += (hardware.empty() ? "" : " ") + *word;
  }
  return hardware;
}

}  // namespace

std::string notedHardware(const std::string& fingerprint, const std::set<UnitId>& ids) {
  if (fingerprint.empty()) return {};  // of all but claims
  std::string noted;
  bool known = false;
  for (const UnitId& id : ids) {
    const std::string one =
        notedText(hardwareText(fingerprint, id), kLongestNotedHardware / ids.size());
    known = known || !one.empty();
    noted += (id == *ids.begin() ? "" : "/") + one;
  }
  return known ? noted : "";
}

std::optional<std::string> fingerprintFrom(std::string_view noted, const std::set<UnitId>& ids) {
  const std::vector<std::string_view> devices = split(noted, '/');
  if (devices.size() != ids.size()) return std::nullopt;
  std::string fingerprint;
  auto device = devices.begin();
  for (const UnitId& id : ids) {
    const std::string_view one = *device++;
    if (one.empty()) continue;
    const auto hardware = hardwareFrom(one);
    if (!hardware) return std::nullopt;
    fingerprint += id.str() + " " + *hardware + ";";
  }
  return fingerprint;
}

}  // namespace vfiogate
