#pragma once
// The option --since.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// The time in the form that records have, which sorts as text. Reads RFC 3339
/// ("2026-11-22T05:35:09Z", "+01:00" for Z, a fraction, or the day alone) and "30m", "2h", "1d"
/// before `nowNs`, which is ns since 1970. Null: it is neither.
std::optional<std::string> timeSince(std::string_view text, std::int64_t nowNs);

}  // namespace vfiogate
