#include "netd/dra/slices/slice_name.h"

#include <algorithm>
#include <charconv>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::string_view kCounters = "-counters";
constexpr std::size_t kDigits = 3;
constexpr std::size_t kMostDigits = 6;
constexpr std::size_t kLongestBase = kLongestName - kCounters.size() - 1 - kMostDigits;
constexpr std::size_t kHashDigits = 16;

/// FNV-1a. It tells names apart by accident, not against somebody: a name that is taken is noticed.
std::uint64_t hashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string hexOf(std::uint64_t number) {
  std::string text(kHashDigits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4U) {
    *digit = "0123456789abcdef"[number & 0xfU];
  }
  return text;
}

}  // namespace

std::string sliceNameBase(std::string_view node, std::string_view driver) {
  std::string whole = std::string(node).append("-").append(driver);
  if (whole.size() <= kLongestBase) return whole;
  const std::size_t room = kLongestBase - std::min(driver.size() + kHashDigits + 2, kLongestBase);
  std::string_view start = node.substr(0, room);
  while (start.ends_with('.') || start.ends_with('-')) start.remove_suffix(1);
  return std::string(start).append("-").append(hexOf(hashOf(whole))).append("-").append(driver);
}

std::string sliceName(std::string_view base, SliceSlot slot) {
  const std::string number = std::to_string(slot.number);
  std::string name(base);
  if (slot.kind == SliceKind::kCounters) name += kCounters;
  return name + "-" + std::string(kDigits - std::min(kDigits, number.size()), '0') + number;
}

std::optional<SliceSlot> sliceSlotOf(std::string_view base, std::string_view name) {
  if (!name.starts_with(base)) return std::nullopt;
  std::string_view rest = name.substr(base.size());
  SliceSlot slot;
  if (rest.starts_with(kCounters)) {
    slot.kind = SliceKind::kCounters;
    rest.remove_prefix(kCounters.size());
  }
  if (!rest.starts_with('-') || rest.size() > kMostDigits + 1) return std::nullopt;
  std::from_chars(rest.data() + 1, rest.data() + rest.size(), slot.number);
  if (sliceName(base, slot) != name) return std::nullopt;
  return slot;
}

}  // namespace vfiogate
