#pragma once
// What a kernel event's text tells us: that it is worth looking again, and where first.

#include "privd/scan/pci_scan.h"

#include <optional>
#include <string_view>

namespace vfiogate {

/// Where a kernel event says that something may have changed; no place at all: anywhere. Null: it
/// is about nothing that a snapshot shows. Its contents are a hint, never data: they may be forged,
/// stale or out of order, and what they do not name is looked at a little later all the same.
std::optional<Places> hintOf(std::string_view datagram);

}  // namespace vfiogate
