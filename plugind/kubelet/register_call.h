#pragma once
// One Register call, over a connection that privd dialled.

#include "ipc/base/resource_name.h"

#include <grpcpp/support/status.h>

#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <string>

namespace vfiogate {

/// The kubelet dials back within 10 s from inside Register (kubelet-contract.md 1.3).
constexpr std::chrono::seconds kRegisterDeadline{12};

/// Tells the kubelet that `resource` is served at `endpoint`. Always ends by kRegisterDeadline, and
/// with an answer; dropping the promise cancels the call. The loop's thread only.
kj::Promise<grpc::Status> registerWithKubelet(kj::AutoCloseFd connection,
                                              const ResourceName& resource,
                                              const std::string& endpoint);

}  // namespace vfiogate
