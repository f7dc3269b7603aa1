#pragma once
// DRAPlugin of both versions: gRPC's words to the loop's and back, no decisions.

#include "plugind/base/task_queue.h"
#include "plugind/dra/serve/dra_events.h"

#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <memory>

namespace vfiogate {

enum class DraVersion : std::uint8_t { kV1, kV1beta1 };

/// `events` hears of calls through `taskQueue` for as long as that is open.
std::unique_ptr<grpc::Service> draService(DraVersion version, DraEvents& events,
                                          std::shared_ptr<TaskQueue> taskQueue);

}  // namespace vfiogate
