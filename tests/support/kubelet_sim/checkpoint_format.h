#pragma once
// The text of kubelet_internal_checkpoint, format v2, and the checksum inside it.

#include "ipc/types/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate::kubelet_sim {

/// A Go slice or map that may be nil, which its checksum tells apart from empty.
template <typename T>
using Nullable = std::optional<T>;
using IdList = Nullable<std::vector<std::string>>;

/// The devices of one resource in one container.
struct PodDevicesEntry {
  std::string podUid;
  std::string containerName;
  std::string resourceName;
  /// By NUMA node; -1 stands for none. A device of several nodes stands under each.
  Nullable<std::map<std::int64_t, IdList>> deviceIds;
  /// The serialized ContainerAllocateResponse.
  Nullable<std::string> allocResp;

  friend bool operator==(const PodDevicesEntry&, const PodDevicesEntry&) = default;
};

struct Checkpoint {
  /// In the order of the file, which the checksum covers. A kubelet writes null for none.
  Nullable<std::vector<PodDevicesEntry>> podDeviceEntries;
  /// Resource to its healthy devices.
  Nullable<std::map<std::string, IdList>> registeredDevices;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Why a text is no checkpoint. A kubelet treats all alike: it goes on with an empty one.
enum class CheckpointError { kNotJson, kWrongShape, kWrongChecksum };

/// What the checksum is taken over: the Go debugging form of the data.
std::string goRendering(const Checkpoint& checkpoint);

/// 32-bit FNV-1a of goRendering().
std::uint32_t checksum(const Checkpoint& checkpoint);

/// One line of JSON without a line feed, as a kubelet writes it.
std::string formatCheckpoint(const Checkpoint& checkpoint);

/// Reads v2 only: v1 (lists in DeviceIDs) is kWrongShape.
Result<Checkpoint, CheckpointError> parseCheckpoint(std::string_view text);

}  // namespace vfiogate::kubelet_sim
