#pragma once
// Reads what the kubelet remembers: its checkpoint, and PodResources List.

#include "plugind/core/kubelet_memory.h"
#include "plugind/kubelet/memory_source.h"

#include <kj/async.h>

#include <string>

namespace vfiogate {

class KubeletReader {
public:
  /// Borrows `source`.
  explicit KubeletReader(KubeletMemorySource& source) : source_(source) {}

  /// The checkpoint as it is now. Error: why nothing can be told from it, for the log; `absent`:
  /// the kubelet has written none, so it remembers nothing.
  kj::Promise<Result<CheckpointVersion, SocketRefusal>> version();

  /// Error: why there is no list.
  kj::Promise<Result<PodList, std::string>> list();

private:
  KubeletMemorySource& source_;
};

}  // namespace vfiogate
