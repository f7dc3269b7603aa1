#pragma once
// One ListAndWatch call: the newest frame wins, one write in flight.

#include "plugind/kubelet/frame_to_proto.h"
#include "proto/deviceplugin.grpc.pb.h"

#include <functional>
#include <memory>
#include <mutex>

namespace vfiogate {

/// The kubelet's end of a resource. A kubelet that does not read costs two frames of memory,
/// however many are shown. Lives until gRPC is done with the call, and then as long as it is held.
class ListWatchStream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
public:
  using Ended = std::function<void(const ListWatchStream&)>;

  /// `ended` is called once, on a thread of gRPC, when the call is over for whatever reason.
  static std::shared_ptr<ListWatchStream> open(Ended ended);

  /// Any thread: says this frame next, in place of one that still waits.
  void show(std::shared_ptr<const FrameMessage> newest);

  /// Any thread: ends the call from our side, after the write in flight.
  void end(grpc::Status status);

  /// The last frame whose sending began: what the kubelet may know. Null before the first.
  std::shared_ptr<const FrameMessage> said() const;

private:
  /// What the lock's holder must do after letting go of it: gRPC may call back from within.
  enum class Next { kNothing, kWrite, kFinish };

  explicit ListWatchStream(Ended ended) : ended_(std::move(ended)) {}

  void OnWriteDone(bool written) override;
  void OnCancel() override;
  void OnDone() override;

  Next decideLocked();
  void act(Next next);

  const Ended ended_;
  mutable std::mutex mutex_;
  std::shared_ptr<const FrameMessage> waiting_;
  std::shared_ptr<const FrameMessage> said_;
  bool writing_ = false;
  bool ending_ = false;
  bool finished_ = false;
  grpc::Status last_;
  std::shared_ptr<ListWatchStream> self_;  ///< until gRPC is done
};

}  // namespace vfiogate
