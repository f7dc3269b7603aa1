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

// The kubelet judges the prefix with "requests." before it, which may have 253 characters.
constexpr std::size_t kMaxPrefix = 253 - 9;
constexpr std::size_t kMaxLabel = 63;

bool isAlphaOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

bool isQualifiedName(std::string_view text) {
  if (text.empty() || text.size() > kMaxLabel) return false;
  if (!isAlphaOrDigit(text.front()) || !isAlphaOrDigit(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return isAlphaOrDigit(c) || c == '-' || c == '_' || c == '.'; });
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The runtimes' library panics over a name of one character, and with it the runtime ends (seen
/// with containerd 2.1.9).
bool isName(std::string_view name) {
  return name.size() > 1 && isLetter(name.front());
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

std::optional<ResourceName> ResourceName::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.find("kubernetes.io/") != std::string_view::npos) return std::nullopt;
  if (text.starts_with("requests.")) return std::nullopt;
  if (!isDnsSubdomain(text.substr(0, slash), kMaxPrefix) ||
      !isQualifiedName(text.substr(slash + 1))) {
    return std::nullopt;
  }
  return ResourceName(std::string(text));
}

std::string_view ResourceName::prefix() const {
  return std::string_view(text_).substr(0, text_.find('/'));
}

bool isCdiKind(const ResourceName& resource) {
  const std::string_view vendor = resource.prefix();
  const std::string_view kind = std::string_view(resource.str()).substr(vendor.size() + 1);
  return isName(vendor) && isName(kind) && kind.find('.') == std::string_view::npos;
}

}  // namespace vfiogate
