#pragma once
// Reads the kubelet's memory of device allocations: the file `kubelet_internal_checkpoint`.

#include "ipc/base/result.h"
#include "plugind/core/kubelet_memory.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace vfiogate {

/// What privd hands over at most.
inline constexpr std::size_t kLongestCheckpoint = 1U << 20U;

/// Reads one version of the file, of kubelets since 1.20 (v2) or before (v1); `written` is the
/// file's modification time. Error: why nothing can be told from it, for the log. A text with an
/// unknown key, another type or a wrong checksum tells nothing: it never means that a device is
/// free.
Result<CheckpointVersion, std::string> readCheckpoint(
    std::string_view text, std::chrono::sys_time<std::chrono::nanoseconds> written);

}  // namespace vfiogate
