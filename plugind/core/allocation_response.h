#pragma once
// What an allocation puts into the container.

#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// The answer to one container's Allocate. Each node has the same path on the host and in the
/// container, and permissions "mrw".
struct AllocationResponse {
  std::vector<std::string> nodes;
  std::map<std::string, std::string> environment;

  friend bool operator==(const AllocationResponse&, const AllocationResponse&) = default;
};

}  // namespace vfiogate
