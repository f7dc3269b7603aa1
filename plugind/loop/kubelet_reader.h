#pragma once
// Reads what the kubelet remembers: its checkpoint, and PodResources List.
// What can be read at the start of who holds what: from the kubelet, and from the specs on disk.

#include "plugind/core/kubelet_memory.h"
#include "plugind/core/ledger/state/calls.h"
#include "plugind/kubelet/memory_source.h"
#include "plugind/privd/link/privd_link.h"

#include <kj/async.h>

#include <string>
#include <vector>

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

/// Errors: why not, for the log.
struct StartReadings {
  Result<CheckpointVersion, SocketRefusal> version;
  Result<PodList, std::string> list;
  Result<std::vector<PrepareRequest>, std::string> claims;  ///< whose specs are on disk
};

/// Borrows both until the promise is done. Never fails. Without the right to specs there is none of
/// ours; one that says what ours never say is left out, and logged.
kj::Promise<StartReadings> readStart(KubeletReader& kubelet, PrivdLink& privd);

}  // namespace vfiogate
