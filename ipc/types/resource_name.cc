#include "ipc/types/resource_name.h"

#include <algorithm>

namespace vfiogate {
namespace {

// The kubelet judges the prefix with "requests." before it, which may have 253 characters.
constexpr std::size_t kMaxPrefix = 253 - 9;
constexpr std::size_t kMaxLabel = 63;

bool isLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool isAlphaOrDigit(char c) {
  return isLowerOrDigit(c) || (c >= 'A' && c <= 'Z');
}

bool isSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kMaxPrefix) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (label.empty() || !isLowerOrDigit(label.front()) || !isLowerOrDigit(label.back()))
      return false;
    if (!std::ranges::all_of(label, [](char c) { return isLowerOrDigit(c) || c == '-'; }))
      return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool isQualifiedName(std::string_view text) {
  if (text.empty() || text.size() > kMaxLabel) return false;
  if (!isAlphaOrDigit(text.front()) || !isAlphaOrDigit(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return isAlphaOrDigit(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

std::optional<ResourceName> ResourceName::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.find("kubernetes.io/") != std::string_view::npos) return std::nullopt;
  if (text.starts_with("requests.")) return std::nullopt;
  if (!isSubdomain(text.substr(0, slash)) || !isQualifiedName(text.substr(slash + 1))) {
    return std::nullopt;
  }
  return ResourceName(std::string(text));
}

std::string_view ResourceName::prefix() const {
  return std::string_view(text_).substr(0, text_.find('/'));
}

}  // namespace vfiogate
