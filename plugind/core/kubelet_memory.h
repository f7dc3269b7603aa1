#pragma once
// What the kubelet remembers and what it tells of that: the evidence for who holds a device.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// Tells one kubelet process from the next (ledger.md 4, "epoch"): identity of `kubelet.sock`.
struct KubeletIdentity {
  std::uint64_t inode = 0;
  std::chrono::sys_time<std::chrono::nanoseconds> changed;  ///< its change time

  friend bool operator==(const KubeletIdentity&, const KubeletIdentity&) = default;
};

/// One entry of the checkpoint: the devices of one resource that one container has. Strings are the
/// kubelet's own and may belong to any plugin.
struct RecordedDevices {
  std::string podUid;
  std::string container;
  std::string resource;
  std::set<std::string> ids;
  /// The annotation `vfiogate.dev/allocated` of the recorded Allocate answer; absent: none in it.
  std::optional<std::string> allocated;
  /// The annotation `vfiogate.dev/ref` of it: which grant it was; absent: none in it.
  std::optional<std::string> ref;

  friend bool operator==(const RecordedDevices&, const RecordedDevices&) = default;
};

/// One version of the file `kubelet_internal_checkpoint` (kubelet-contract.md 2), checksum
/// verified.
struct CheckpointVersion {
  std::chrono::sys_time<std::chrono::nanoseconds> written;  ///< the file's modification time
  std::vector<RecordedDevices> entries;
  std::map<std::string, std::set<std::string>> registered;  ///< resource to ids (RegisteredDevices)

  friend bool operator==(const CheckpointVersion&, const CheckpointVersion&) = default;
};

/// The devices of one resource that one container has, as PodResources List tells: no pod UID, no
/// plain init containers, nothing of inactive pods. Absence from it proves nothing.
struct ListedDevices {
  std::string podNamespace;
  std::string podName;
  std::string container;
  std::string resource;
  std::set<std::string> ids;

  friend bool operator==(const ListedDevices&, const ListedDevices&) = default;
};

/// One answer of PodResources List. Pods without devices matter too ("listed without devices").
struct PodList {
  std::vector<ListedDevices> devices;
  std::set<std::string> pods;  ///< "namespace/name" of every pod named

  friend bool operator==(const PodList&, const PodList&) = default;
};

}  // namespace vfiogate
