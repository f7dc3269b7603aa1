#pragma once
// What a kernel event's text tells us: that it is worth looking again, and nothing else.

#include <string_view>

namespace vfiogate {

/// True if the datagram is a kernel event that may have changed a snapshot. Its contents are a
/// hint, never data: they may be forged, stale or out of order.
bool isHint(std::string_view datagram);

}  // namespace vfiogate
