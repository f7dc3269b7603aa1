#pragma once
// The kubelet's DRA services: DRAPlugin of both versions and v1alpha1.DRAResourceHealth, whose
// stream the kubelet opens whether it was named or not. gRPC's messages to the loop's and back, no
// decisions.

#include "plugind/base/task_queue.h"
#include "plugind/dra/serve/dra_events.h"
#include "plugind/rpc/served_call.h"
#include "proto/dra_v1.pb.h"
#include "proto/dra_v1beta1.pb.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace vfiogate {

/// The methods of DRAPlugin, of both versions, and of DRAResourceHealth. `events` hears of calls
/// through `taskQueue` for as long as that is open.
Methods draMethods(DraEvents& events, const std::shared_ptr<TaskQueue>& taskQueue);

struct DraWordsV1 {
  static constexpr const char* kPlugin = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
  using Prepare = k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesRequest;
  using Prepared = k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesResponse;
  using Unprepare = k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesRequest;
  using Unprepared = k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesResponse;
};

struct DraWordsV1beta1 {
  static constexpr const char* kPlugin = "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin";
  using Prepare = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesRequest;
  using Prepared = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesResponse;
  using Unprepare = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesRequest;
  using Unprepared = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesResponse;
};

/// The kubelet's own limit of a device's message; an error ends in an event, which holds as much.
constexpr std::size_t kLongestWireText = 1024;

/// `text`, cut after kLongestWireText bytes with three dots at its end. What is not printable ASCII
/// is replaced: one byte that is not UTF-8 makes a whole message unreadable for Go's protobuf, and
/// netd's words must not begin a line of a log.
std::string wireText(std::string_view text);

/// Devices of which the kubelet heard nothing for this long are unknown to it: send() again sooner.
constexpr std::chrono::seconds kHealthTimeout{30};

/// Those of DRAResourceHealth alone.
Methods healthMethods(DraEvents& events, const std::shared_ptr<TaskQueue>& taskQueue);

}  // namespace vfiogate
