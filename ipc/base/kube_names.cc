#include "ipc/base/kube_names.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::string_view kUidShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLowerOrDigit(char c) {
  return isLower(c) || isDigit(c);
}

bool isLabelOfAnyLength(std::string_view text) {
  return !text.empty() && isLowerOrDigit(text.front()) && isLowerOrDigit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return isLowerOrDigit(c) || c == '-'; });
}

/// Each part of `text` between separators passes.
template <typename Test>
bool eachPart(std::string_view text, char separator, Test passes) {
  while (true) {
    const std::size_t end = text.find(separator);
    if (!passes(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool isDnsLabel(std::string_view text) {
  return text.size() <= kLongestLabel && isLabelOfAnyLength(text);
}

bool isDnsSubdomain(std::string_view text, std::size_t longest) {
  return text.size() <= longest && eachPart(text, '.', isLabelOfAnyLength);
}

bool isUid(std::string_view text) {
  return std::ranges::equal(text, kUidShape, [](char c, char shape) {
    return shape == '-' ? c == '-' : isDigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool isPoolName(std::string_view text) {
  return text.size() <= kLongestSubdomain &&
         eachPart(text, '/', [](std::string_view part) { return isDnsSubdomain(part); });
}

bool isDraDriver(std::string_view text) {
  return isDnsSubdomain(text, kLongestDraDriver) && text.size() > 1 && isLower(text.front());
}

}  // namespace vfiogate
