#pragma once
// The checksum of a checkpoint, which covers how Go prints its data, not the file's bytes.

#include "plugind/checkpoint/checkpoint_shape.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace vfiogate {

/// `data` as Go's debug printer shows it (kubelet-contract.md 2). It has the shape of `format`.
std::string goRendering(const nlohmann::json& data, CheckpointFormat format);

/// 32-bit FNV-1a.
std::uint32_t fnv1a(const std::string& text);

}  // namespace vfiogate
