#pragma once
// One PodResources List, over a connection that privd dialled.

#include "ipc/base/result.h"
#include "plugind/core/kubelet_memory.h"

#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <string>

namespace v1 {
class ListPodResourcesResponse;
}

namespace vfiogate {

/// A busy kubelet answers late; the caller tries again at the next occasion.
constexpr std::chrono::seconds kListDeadline{2};

/// Asks the kubelet what the containers of active pods have. Always ends by kListDeadline. Error:
/// why not, for the log. The loop's thread only; dropping the promise cancels the call.
kj::Promise<Result<PodList, std::string>> listPods(kj::AutoCloseFd connection);

/// What the kubelet's answer says.
PodList podListOf(const v1::ListPodResourcesResponse& answer);

}  // namespace vfiogate
