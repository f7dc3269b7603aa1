#pragma once
// What fuzz targets share: the input as text, and a property that has to hold.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace vfiogate {

inline std::string_view textOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The text before the first `separator`, which goes from `rest` with it; all of it where there is
/// none.
inline std::string_view takePart(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(part.size() == rest.size() ? part.size() : part.size() + 1);
  return part;
}

/// A fuzzer takes an abort for a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// True for what may stand in a log or a table: no byte that ends a line or moves a cursor.
inline bool isOneLine(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return false;
  }
  return true;
}

}  // namespace vfiogate
