#include "ipc/base/hex.h"

#include <charconv>
#include <limits>

namespace vfiogate {
namespace {

bool isHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::optional<std::uint32_t> parseWhole(std::string_view text, int base) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint32_t> parseHexDigits(std::string_view text, std::size_t digits) {
  if (text.size() != digits) return std::nullopt;
  for (const char c : text) {
    if (!isHexDigit(c)) return std::nullopt;
  }
  return parseWhole(text, 16);
}

std::optional<std::uint32_t> parseHex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.size() > 8) return std::nullopt;
  return parseHexDigits(text, text.size());
}

std::optional<std::uint32_t> parseDecimal(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  return parseWhole(text, 10);
}

std::string hexDigits(std::uint32_t value, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(static_cast<std::size_t>(digits), '0');
  for (auto place = text.rbegin(); place != text.rend(); ++place, value >>= 4) {
    *place = kDigits[value & 0xf];
  }
  return text;
}

}  // namespace vfiogate
