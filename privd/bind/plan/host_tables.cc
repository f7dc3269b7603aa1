#include "privd/bind/plan/block_use.h"

#include <algorithm>

namespace vfiogate {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view ends) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(ends), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// "/srv/my\040disk" as the kernel writes it.
std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const bool escape =
        text.size() >= 4 && text.front() == '\\' &&
        std::ranges::all_of(text.substr(1, 3), [](char c) { return c >= '0' && c <= '7'; });
    if (escape) {
      plain.push_back(
          static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0'));
    } else {
      plain.push_back(text.front());
    }
    text.remove_prefix(escape ? 4 : 1);
  }
  return plain;
}

/// The first column of a table with a heading that begins with `heading`.
std::optional<std::vector<std::string>> firstColumn(std::string_view text,
                                                    std::string_view heading) {
  if (!text.starts_with(heading)) return std::nullopt;
  std::vector<std::string> column;
  const auto lines = split(text, "\n");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto words = split(lines[i], " \t");
    if (!words.empty()) column.push_back(unescaped(words.front()));
  }
  return column;
}

}  // namespace

std::optional<std::vector<Mount>> parseMountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(text, "\n")) {
    // 36 35 98:0 /below /place options [more]... - type source superoptions
    const auto words = split(line, " ");
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 3) continue;
    mounts.push_back({std::string(words[2]), unescaped(words[4]), unescaped(dash[2])});
  }
  if (mounts.empty()) return std::nullopt;
  return mounts;
}

std::optional<std::vector<std::string>> parseSwaps(std::string_view text) {
  return firstColumn(text, "Filename");
}

std::optional<std::vector<std::string>> parseRoutes(std::string_view text) {
  return firstColumn(text, "Iface");
}

}  // namespace vfiogate
