#pragma once
// NVIDIA Fabric Manager's partition table as sets of the configuration.

#include "ipc/base/kube_names.h"
#include "ipc/base/result.h"
#include "ipc/types/bdf.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vfiogate {

/// What the table leaves open.
struct PartitionOptions {
  /// Addresses of GPUs by Module Id, which the table calls physicalId: Fabric Manager knows no
  /// address of a GPU that it does not see. Win over the table's own.
  std::map<std::uint32_t, Bdf> modules;
  ResourceName resource;  ///< of partitions of N GPUs, with "_N" added
};

/// "7=0000:17:00.0". Null: not that.
std::optional<std::pair<std::uint32_t, Bdf>> moduleIn(std::string_view text);

/// Entries for `resources`, as YAML: a resource for each size, a set for each partition, named
/// "partition-ID". `table`: what `fmpm -l` prints (fmFabricPartitionList_t of NVIDIA's
/// nv_fm_types.h, as JSON). Error: what of it cannot be used, and what would mend it.
Result<std::string, std::string> setsOfPartitions(std::string_view table,
                                                  const PartitionOptions& options);

}  // namespace vfiogate
