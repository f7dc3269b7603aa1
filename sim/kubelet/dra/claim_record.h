#pragma once
// What the kubelet remembers of a claim (kubelet-contract.md 5.4).

#include <map>
#include <optional>
#include <set>
#include <string>
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

}  // namespace vfiogate::sim
