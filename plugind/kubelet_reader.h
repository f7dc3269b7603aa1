#pragma once
// Reads what the kubelet remembers: its checkpoint, and PodResources List.

#include "plugind/core/kubelet_memory.h"
#include "plugind/kubelet/kubelet_sockets.h"

#include <kj/async.h>

#include <optional>
#include <string>

namespace vfiogate {

class KubeletReader {
public:
  /// Borrows `sockets`.
  explicit KubeletReader(KubeletSockets& sockets) : sockets_(sockets) {}

  /// The checkpoint as it is now. Error: why nothing can be told from it, for the log.
  kj::Promise<Result<CheckpointVersion, std::string>> version();

  /// Error: why there is no list.
  kj::Promise<Result<PodList, std::string>> list();

private:
  KubeletSockets& sockets_;
};

}  // namespace vfiogate
