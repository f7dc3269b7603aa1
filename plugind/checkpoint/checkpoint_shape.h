#pragma once
// Which JSON is a checkpoint's, and of which format.
// The checksum of a checkpoint, which covers how Go prints its data, not the file's bytes.

#include "ipc/base/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace vfiogate {

/// How an entry lists its devices.
enum class CheckpointFormat {
  kList,  ///< v1, kubelets before 1.20
  kNuma,  ///< v2: by NUMA node
};

/// Accepts `file` only if each key and type is as kubelet-contract.md 2 has them. A file without
/// entries is of both formats and taken for v2. Error: what is not, and where.
Result<CheckpointFormat, std::string> checkpointFormat(const nlohmann::json& file);

/// A NUMA key: a decimal number as Go writes it, such as "-1".
bool isNumaKey(const std::string& key);

/// `data` as Go's debug printer shows it (kubelet-contract.md 2). It has the shape of `format`.
std::string goRendering(const nlohmann::json& data, CheckpointFormat format);

/// 32-bit FNV-1a.
std::uint32_t fnv1a(const std::string& text);

}  // namespace vfiogate
