#pragma once
// One ListAndWatch call.

#include "plugind/kubelet/frame_to_proto.h"
#include "plugind/kubelet/newest_stream.h"
#include "proto/deviceplugin.grpc.pb.h"

#include <functional>
#include <memory>

namespace vfiogate {

/// The kubelet's end of a resource.
class ListWatchStream final : public NewestStream<FrameMessage> {
public:
  using Ended = std::function<void(const ListWatchStream&)>;

  /// `ended` is called once, on a thread of gRPC, when the call is over for whatever reason.
  static std::shared_ptr<ListWatchStream> open(Ended ended) {
    return keep(std::shared_ptr<ListWatchStream>(new ListWatchStream(std::move(ended))));
  }

private:
  explicit ListWatchStream(Ended ended) : ended_(std::move(ended)) {}
  void ended() override { ended_(*this); }

  const Ended ended_;
};

}  // namespace vfiogate
