#pragma once
// The kubelet's device checkpoint, format v2: text, and the checksum over how Go prints it.
// How the kubelet, a Go program, prints what a plugin answered, and JSON.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace grpc {
class Status;
}

namespace vfiogate::sim {

/// What one container of a pod holds of one resource.
struct CheckpointEntry {
  std::string podUid;
  std::string container;
  std::string resource;
  std::map<long, std::vector<std::string>> devices;  ///< by NUMA node, -1: none
  std::string allocResp;                             ///< serialized ContainerAllocateResponse

  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

struct Checkpoint {
  std::optional<std::vector<CheckpointEntry>> entries;         ///< null in the file when empty
  std::map<std::string, std::vector<std::string>> registered;  ///< healthy ids only

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// 32-bit FNV-1a over Go's debug rendering of the data.
std::uint32_t checksumOf(const Checkpoint& checkpoint);

/// One line without its end, with the checksum.
std::string formatCheckpoint(const Checkpoint& checkpoint);

/// Null if it is not v2 or its checksum is wrong: a real kubelet goes on with nothing then.
std::optional<Checkpoint> parseCheckpoint(const std::string& text);

/// "rpc error: code = <name> desc = <text>".
std::string goText(const grpc::Status& status);

/// JSON as Go's writer leaves it, which hides three signs from HTML.
std::string goJson(const std::string& json);

}  // namespace vfiogate::sim
