#include "privd/state/allocation_text.h"

#include "privd/base/sha256.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::string_view kAllocationFormat = "format=2\nboot=";
constexpr std::string_view kMembers = "\nmembers=";
constexpr std::string_view kNote = "\n\n";
constexpr std::size_t kEndSize = sizeof("\nsha256=\n") - 1 + 64;

/// The text up to `mark`, which is taken off with it. Null: there is no mark.
std::optional<std::string_view> takeUntil(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return taken;
}

/// Ascending, each once. Empty: it makes no sense.
std::vector<UnitId> membersFrom(std::string_view text) {
  std::vector<UnitId> members;
  members.reserve(static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto member = UnitId::parse(word);
    if (!member || (!members.empty() && *member <= members.back())) return {};
    members.push_back(*member);
  }
  return members;
}

}  // namespace

bool isNote(std::string_view text) {
  return !text.empty() && text.size() <= kLargestNote &&
         std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

std::string allocationText(const std::string& bootId, const AllocatedGroup& group) {
  std::string text = std::string(kAllocationFormat) + bootId + std::string(kMembers);
  for (const UnitId& member : group.members) {
    text += (text.ends_with('=') ? "" : " ") + member.str();
  }
  text += std::string(kNote) + group.note;
  return text + "\nsha256=" + sha256Digits(text) + "\n";
}

std::optional<AllocationText> readAllocation(std::string_view text) {
  if (text.size() > kLargestAllocation || text.size() < kEndSize) return std::nullopt;
  const std::string_view whole = text;
  text.remove_suffix(kEndSize);
  if (takeUntil(text, kAllocationFormat) != "") return std::nullopt;
  const auto boot = takeUntil(text, kMembers);
  const auto members = takeUntil(text, kNote);
  if (!boot || !members || !isNote(text)) return std::nullopt;
  AllocationText read{std::string(*boot), {membersFrom(*members), std::string(text)}};
  // What is torn, or was never written so, is another text.
  if (read.group.members.empty() || allocationText(read.bootId, read.group) != whole) {
    return std::nullopt;
  }
  return read;
}

}  // namespace vfiogate
