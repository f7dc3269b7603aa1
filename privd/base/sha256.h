#pragma once
// SHA-256, by libmd.

#include <string>
#include <string_view>

namespace vfiogate {

/// 64 hex digits, lower case.
std::string sha256Digits(std::string_view text);

}  // namespace vfiogate
