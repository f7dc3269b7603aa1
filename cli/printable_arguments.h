#pragma once
// Arguments are said again in errors, on terminals and in logs.

#include <algorithm>
#include <string_view>

namespace vfiogate {

inline constexpr const char* kUnprintableArgument =
    "an argument has a character that is not printable ASCII";

/// Whether each is printable ASCII.
inline bool arePrintable(int argc, const char* const* argv) {
  return std::all_of(argv, argv + argc, [](std::string_view argument) {
    return std::ranges::all_of(argument, [](char c) { return c >= 0x20 && c < 0x7f; });
  });
}

}  // namespace vfiogate
