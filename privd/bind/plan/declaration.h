#pragma once
// Which devices are to be on VFIO whenever they appear.

#include "ipc/types/selector.h"
#include "privd/bind/plan/guards.h"
#include "privd/state/state_directory.h"

#include <optional>
#include <string_view>
#include <vector>

namespace vfiogate {

/// For whom the device is to be bound; null: it is not declared. `declared` are --declare's, `kept`
/// what `bind --keep` left at its address.
std::optional<ChangeBy> declaredBy(const PciDevice& device, const std::vector<Selector>& declared,
                                   const std::optional<DeviceIdentity>& kept);

/// "0000:01:00.0=10de:2684" (this card in this place), or a selector. An address alone is refused:
/// it may be another card's after one has moved.
Result<Selector, SelectorProblem> parseDeclaration(std::string_view text);

/// "boot-vga", or "boot-vga=0000:01:00.0".
Result<GuardOverride, std::string> parseOverride(std::string_view text);

}  // namespace vfiogate
