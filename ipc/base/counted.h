#pragma once
// A count of things, for people.

#include <cstdint>
#include <string>

namespace vfiogate {

/// "1 device", "2 devices".
inline std::string counted(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace vfiogate
