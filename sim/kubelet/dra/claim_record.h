#pragma once
// What the kubelet remembers of a claim (kubelet-contract.md 5.4).
// The kubelet's file of claims, dra_manager_state: text, and the CRC-32 over its inner text.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate::sim {

/// One device as its driver described it; nothing of it was checked.
struct ClaimDevice {
  std::string pool;
  std::string device;
  std::optional<std::string> shareId = {};
  std::vector<std::string> requests = {};
  std::vector<std::string> cdiDevices = {};

  friend bool operator==(const ClaimDevice&, const ClaimDevice&) = default;
};

struct ClaimRecord {
  std::string uid;
  std::string name;
  std::string nameSpace;
  std::set<std::string> podUids;
  /// By driver; every driver of the allocation, also one that was never asked.
  std::map<std::string, std::vector<ClaimDevice>> drivers;

  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

/// The devices, each with its driver, of a container that asked for `request`; empty: for the whole
/// claim. What a driver says is for "main/sub" nobody asks for.
std::vector<std::pair<std::string, ClaimDevice>> devicesFor(const ClaimRecord& claim,
                                                            const std::string& request);

/// Null in a file that nothing was written to yet.
using ClaimRecords = std::optional<std::vector<ClaimRecord>>;

/// CRC-32/IEEE, as of zlib.
std::uint32_t crc32Of(std::string_view text);

/// The whole file.
std::string formatClaims(const ClaimRecords& claims);

/// False if it is none, or its checksum is wrong: a real kubelet does not start then.
bool parseClaims(const std::string& text, ClaimRecords& claims);

}  // namespace vfiogate::sim
