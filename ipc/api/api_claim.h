#pragma once
// A ResourceClaim as the API server has it, as far as it concerns us.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ipc/types/vfio_nodes.h"

namespace vfiogate {

/// What a class or a claim asks of one device beyond having it (opaque configuration).
struct DeviceParameters {
  std::optional<Backend> vfio;  ///< absent: as the node's configuration says
  bool bindNever = false;       ///< only a device that is on VFIO already

  friend bool operator==(const DeviceParameters&, const DeviceParameters&) = default;
};

/// One device that the scheduler gave to the claim.
struct AllocatedDevice {
  std::string request;  ///< "main" or "main/sub"
  std::string pool;
  std::string device;  ///< its name in the pool
  std::optional<std::string> shareId;
  bool adminAccess = false;
  DeviceParameters parameters;
  std::string badParameters;  ///< why they cannot be used, naming the field; empty: they can

  friend bool operator==(const AllocatedDevice&, const AllocatedDevice&) = default;
};

struct AllocatedClaim {
  std::string uid;
  bool allocated = false;
  std::string podClaimName;              ///< of a claim made from a template; empty: it was not
  std::vector<AllocatedDevice> devices;  ///< of our driver, in the claim's order

  friend bool operator==(const AllocatedClaim&, const AllocatedClaim&) = default;
};

struct ClaimGone {
  friend bool operator==(const ClaimGone&, const ClaimGone&) = default;
};
struct ClaimUnread {
  std::string why;  ///< for people
  friend bool operator==(const ClaimUnread&, const ClaimUnread&) = default;
};
using ClaimAnswer = std::variant<AllocatedClaim, ClaimGone, ClaimUnread>;

/// One device in a claim's status.
struct ReportedDevice {
  std::string pool;
  std::string device;
  std::optional<std::string> shareId;
  bool ready = false;
  std::string reason;   ///< a word in CamelCase
  std::string message;  ///< for people
  std::string address;  ///< of the PCI device

  friend bool operator==(const ReportedDevice&, const ReportedDevice&) = default;
};

struct ClaimReport {
  std::string driver;
  std::string claimNamespace;
  std::string name;
  std::string uid;
  std::vector<ReportedDevice> devices;

  friend bool operator==(const ClaimReport&, const ClaimReport&) = default;
};

}  // namespace vfiogate
