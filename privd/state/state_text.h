#pragma once
// The lines of privd's state files: `format=1`, then each key of its kind once, in order.

#include "privd/state/state_directory.h"

#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Bytes of one file.
constexpr std::size_t kLargestState = 4096;

std::string textOf(const BoundDevice& device);
std::string textOf(const Exclusion& exclusion);
std::string textOf(const DeviceIdentity& declared);

/// Reads what textOf() writes, and nothing else: no key more or less, no control character, at most
/// kLargestState bytes. `address` is the file's name. Null: it makes no sense.
template <typename Entry>
std::optional<Entry> stateFrom(const Bdf& address, std::string_view text);
template <>
std::optional<BoundDevice> stateFrom(const Bdf& address, std::string_view text);
template <>
std::optional<Exclusion> stateFrom(const Bdf& address, std::string_view text);
template <>
std::optional<DeviceIdentity> stateFrom(const Bdf& address, std::string_view text);

}  // namespace vfiogate
