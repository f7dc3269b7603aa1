#pragma once
// The kubelet's file of claims, dra_manager_state: text, and the CRC-32 over its inner text.

#include "sim/kubelet/dra/claim_record.h"

#include <cstdint>
#include <string_view>

namespace vfiogate::sim {

/// Null in a file that nothing was written to yet.
using ClaimRecords = std::optional<std::vector<ClaimRecord>>;

/// CRC-32/IEEE, as of zlib.
std::uint32_t crc32Of(std::string_view text);

/// The whole file.
std::string formatClaims(const ClaimRecords& claims);

/// False if it is none, or its checksum is wrong: a real kubelet does not start then.
bool parseClaims(const std::string& text, ClaimRecords& claims);

}  // namespace vfiogate::sim
