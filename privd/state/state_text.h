#pragma once
// The lines of privd's state files: `format=1`, then each key of its kind once, in order.

#include "privd/state/state_directory.h"

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace vfiogate {

/// Bytes of one file.
constexpr std::size_t kLargestState = 4096;

std::string textOf(const BoundDevice& device);
std::string textOf(const Exclusion& exclusion);
std::string textOf(const DeviceIdentity& declared);

/// What an entry's file is named after: drivers are changed of functions alone.
template <typename Entry>
using NamedAfter = std::conditional_t<std::is_same_v<Entry, Exclusion>, UnitId, Bdf>;

/// Reads what textOf() writes, and nothing else: no key more or less, no control character, at most
/// kLargestState bytes. `device` is the file's name. Null: it makes no sense.
template <typename Entry>
std::optional<Entry> stateFrom(const NamedAfter<Entry>& device, std::string_view text);
template <>
std::optional<BoundDevice> stateFrom<BoundDevice>(const Bdf& address, std::string_view text);
template <>
std::optional<Exclusion> stateFrom<Exclusion>(const UnitId& device, std::string_view text);
template <>
std::optional<DeviceIdentity> stateFrom<DeviceIdentity>(const Bdf& address, std::string_view text);

}  // namespace vfiogate
