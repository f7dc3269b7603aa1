#pragma once
// Numbers as the kernel and people write them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Reads `text` as exactly `digits` hexadecimal digits, either case. Null if it is anything else.
std::optional<std::uint32_t> parseHexDigits(std::string_view text, std::size_t digits);

/// Reads "0x10de" as the kernel writes ids: the prefix is optional, then 1 to 8 digits. Null if it
/// is anything else.
std::optional<std::uint32_t> parseHex(std::string_view text);

/// Reads an unsigned decimal number without sign or blanks. Null if it is anything else or does
/// not fit.
std::optional<std::uint32_t> parseDecimal(std::string_view text);

/// Writes `value` with exactly `digits` lower-case hexadecimal digits, without prefix.
std::string hexDigits(std::uint32_t value, int digits);

}  // namespace vfiogate
