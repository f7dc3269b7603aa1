#include "ipc/types/vital_data.h"

#include "ipc/types/selector.h"

#include <algorithm>
#include <cstdint>

namespace vfiogate {
namespace {

// Of a resource: large ones have this bit and two bytes of length, small ones three bits of it.
constexpr std::uint8_t kLarge = 0x80;
constexpr std::size_t kLargeHead = 3;
constexpr std::uint8_t kSmallLength = 0x07;
constexpr std::uint8_t kReadOnlyFields = 0x90;
constexpr std::uint8_t kEnd = 0x78;
// Of a field: two letters and a byte of length.
constexpr std::size_t kFieldHead = 3;
constexpr std::string_view kSerialField = "SN";

std::uint8_t byteAt(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

/// Without what fills the field up; empty where that is no line of text.
std::string_view textIn(std::string_view field) {
  constexpr std::string_view kFill(" \0", 2);
  const std::size_t begin = std::min(field.find_first_not_of(kFill), field.size());
  field.remove_prefix(begin);
  field = field.substr(0, field.find_last_not_of(kFill) + 1);
  return isSerialNumber(field) ? field : std::string_view();
}

std::string_view serialField(std::string_view fields) {
  while (fields.size() >= kFieldHead) {
    const std::size_t length = byteAt(fields, 2);
    if (fields.size() - kFieldHead < length) return {};
    if (fields.starts_with(kSerialField)) return textIn(fields.substr(kFieldHead, length));
    fields.remove_prefix(kFieldHead + length);
  }
  return {};
}

}  // namespace

std::string_view serialIn(std::string_view vpd) {
  while (!vpd.empty()) {
    const std::uint8_t tag = byteAt(vpd, 0);
    const bool isLarge = (tag & kLarge) != 0;
    const std::size_t head = isLarge ? kLargeHead : 1;
    if (vpd.size() < head || (!isLarge && (tag & ~kSmallLength) == kEnd)) return {};
    const std::size_t length = isLarge ? byteAt(vpd, 1) + std::size_t{256} * byteAt(vpd, 2)
                                       : std::size_t{tag} & kSmallLength;
    vpd.remove_prefix(head);
    if (tag == kReadOnlyFields) return serialField(vpd.substr(0, length));
    vpd.remove_prefix(std::min(length, vpd.size()));
  }
  return {};
}

}  // namespace vfiogate
