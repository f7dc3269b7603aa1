#pragma once
// One ListAndWatch call.
// The core's values in the kubelet's words.

#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/frame.h"
#include "plugind/kubelet/newest_stream.h"
#include "proto/deviceplugin.pb.h"

#include <functional>
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

/// The kubelet's end of a resource.
class ListWatchStream final : public NewestStream<FrameMessage> {
public:
  using Ended = std::function<void(const ListWatchStream&)>;

  /// `ended` is called once, on the queue's thread, when the call is over for whatever reason.
  ListWatchStream(std::shared_ptr<Responder> responder, Ended ended)
      : NewestStream(std::move(responder)), ended_(std::move(ended)) {}

private:
  void ended() override { ended_(*this); }

  const Ended ended_;
};

}  // namespace vfiogate
