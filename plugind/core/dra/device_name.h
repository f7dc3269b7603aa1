#pragma once
// What a device is called in a pool, where ':' and '.' are not allowed.

#include <optional>
#include <string>
#include <string_view>

#include "ipc/types/bdf.h"

namespace vfiogate {

/// "0000-17-00-0", a DNS label: the kernel's spelling with '-' for ':' and '.'.
std::string deviceName(const Bdf& address);

/// Null: not exactly what deviceName() makes.
std::optional<Bdf> deviceAddress(std::string_view name);

}  // namespace vfiogate
