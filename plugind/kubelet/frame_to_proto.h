#pragma once
// The core's values in the kubelet's words.

#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/frame.h"
#include "proto/deviceplugin.pb.h"

#include <memory>

namespace vfiogate {

/// A frame with the message that says it, shared by all streams that show it.
struct FrameMessage {
  Frame frame;
  v1beta1::ListAndWatchResponse message;
};

std::shared_ptr<const FrameMessage> toMessage(const Frame& frame);

/// The answer to an Allocate for one container.
v1beta1::AllocateResponse toMessage(const AllocationResponse& response);

}  // namespace vfiogate
