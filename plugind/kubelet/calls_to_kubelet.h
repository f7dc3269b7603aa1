#pragma once
// Calls over a connection that privd dialled: Register, and PodResources List.

#include "ipc/base/kube_names.h"
#include "ipc/base/result.h"
#include "plugind/core/kubelet_memory.h"

#include <grpcpp/support/status.h>
#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <string>

namespace v1 {
class ListPodResourcesResponse;
}

namespace vfiogate {

/// The kubelet dials back within 10 s from inside Register (kubelet-contract.md 1.3).
constexpr std::chrono::seconds kRegisterDeadline{12};

/// Tells the kubelet that `resource` is served at `endpoint`. Always ends by kRegisterDeadline, and
/// with an answer; dropping the promise cancels the call. The loop's thread only.
kj::Promise<grpc::Status> registerWithKubelet(kj::AutoCloseFd connection,
                                              const ResourceName& resource,
                                              const std::string& endpoint);

/// A busy kubelet answers late; the caller tries again at the next occasion.
constexpr std::chrono::seconds kListDeadline{2};

/// Asks the kubelet what the containers of active pods have. Always ends by kListDeadline. Error:
/// why not, for the log. The loop's thread only; dropping the promise cancels the call.
kj::Promise<Result<PodList, std::string>> listPods(kj::AutoCloseFd connection);

/// What the kubelet's answer says.
PodList podListOf(const v1::ListPodResourcesResponse& answer);
}  // namespace vfiogate
