#pragma once
// What every command says of one device: its state in one word, and why.

#include "ipc/types/viability.h"

#include <string>

namespace vfiogate {

/// Of a device whose group's drivers are being changed now.
inline constexpr const char* kBindingState = "binding";

/// What a person may do with the device now: "passable", "in-use", or why not ("host-driver").
std::string stateOf(const Snapshot& snapshot, const PciDevice& device);
std::string stateOf(const Snapshot& snapshot, const MediatedDevice& device);
/// The reason in words; empty: there is none, it can be passed through.
std::string whyOf(const Snapshot& snapshot, const PciDevice& device);
std::string whyOf(const Snapshot& snapshot, const MediatedDevice& device);

}  // namespace vfiogate
