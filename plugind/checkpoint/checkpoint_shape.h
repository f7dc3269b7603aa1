#pragma once
// Which JSON is a checkpoint's, and of which format.

#include "ipc/base/result.h"

#include <nlohmann/json.hpp>

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

}  // namespace vfiogate
