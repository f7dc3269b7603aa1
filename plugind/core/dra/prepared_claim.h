#pragma once
// What the kubelet is told of a prepared claim.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

struct PreparedDevice {
  std::vector<std::string> requestNames;  ///< without sub-requests, or a container gets nothing
  std::string pool;
  std::string device;
  std::vector<std::string> cdiNames;
  std::optional<std::string> shareId;  ///< v1 only

  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

/// Of one claim of a call. An error: no devices.
struct ClaimResult {
  std::vector<PreparedDevice> devices;
  std::string error;

  friend bool operator==(const ClaimResult&, const ClaimResult&) = default;
};

/// By claim UID; one for each claim that was asked for.
using ClaimResults = std::map<std::string, ClaimResult>;

}  // namespace vfiogate
