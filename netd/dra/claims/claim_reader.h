#pragma once
// A ResourceClaim as the API server sends it. Pure.

#include "ipc/api/api_claim.h"
#include "ipc/base/result.h"

#include <string>
#include <string_view>

namespace vfiogate {

/// Reads a claim of any version, as all say an allocation in the same words: its allocation as far
/// as it is `driver`'s. Error: for people, which field is not what the API server stores. Opaque
/// configuration is its author's input: what is wrong with it is said with the device.
Result<AllocatedClaim, std::string> readClaim(std::string_view text, const std::string& driver);

}  // namespace vfiogate
