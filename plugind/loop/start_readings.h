#pragma once
// What can be read at the start of who holds what: from the kubelet, and from the specs on disk.

#include "plugind/core/ledger/state/calls.h"
#include "plugind/loop/kubelet_reader.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>

#include <string>
#include <vector>

namespace vfiogate {

/// Errors: why not, for the log.
struct StartReadings {
  Result<CheckpointVersion, SocketRefusal> version;
  Result<PodList, std::string> list;
  Result<std::vector<PrepareRequest>, std::string> claims;  ///< whose specs are on disk
};

/// Borrows both until the promise is done. Never fails. Without the right to specs there is none of
/// ours; one that says what ours never say is left out, and logged.
kj::Promise<StartReadings> readStart(KubeletReader& kubelet, ClaimSpecStore& specs);

}  // namespace vfiogate
