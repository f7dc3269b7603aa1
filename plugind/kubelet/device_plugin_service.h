#pragma once
// v1beta1.DevicePlugin for one resource: gRPC's words to the loop's and back, no decisions.

#include "ipc/base/kube_names.h"
#include "plugind/base/task_queue.h"
#include "plugind/kubelet/kubelet_call.h"
#include "plugind/kubelet/list_watch_stream.h"
#include "plugind/rpc/served_call.h"

#include <kj/common.h>

#include <atomic>
#include <memory>

namespace vfiogate {

/// What the kubelet did. Called on the loop's thread.
class PluginEvents {
public:
  virtual void streamOpened(const ResourceName& resource,
                            std::shared_ptr<ListWatchStream> stream) = 0;
  /// The kubelet hung up, or disconnected, or we ended it. `stream` is only an identity.
  virtual void streamEnded(const ResourceName& resource, const ListWatchStream& stream) = 0;
  virtual void allocateAsked(const ResourceName& resource, std::shared_ptr<AllocateCall> call) = 0;
  virtual void preferenceAsked(const ResourceName& resource, std::shared_ptr<PreferCall> call) = 0;
  virtual void startAsked(const ResourceName& resource, std::shared_ptr<StartCall> call) = 0;
  /// The kubelet hung up before the answer.
  virtual void callCancelled(const std::shared_ptr<KubeletCall>& call) = 0;

protected:
  ~PluginEvents() = default;
};

/// Answers on the queue's thread, or has the loop do it. Outlives its server by the time that gRPC
/// takes to end the calls.
class DevicePluginService final {
public:
  /// `events` hears of calls through `taskQueue` for as long as that is open.
  DevicePluginService(ResourceName resource, PluginEvents& events,
                      std::shared_ptr<TaskQueue> taskQueue);
  KJ_DISALLOW_COPY(DevicePluginService);

  /// From the next registration on; true at first.
  void wantPreStart(bool wanted) { wantsPreStart_ = wanted; }
  /// What the kubelet was told last.
  bool toldPreStart() const { return toldPreStart_; }

  using Answering = const std::shared_ptr<Responder>&;
  using Opened = std::shared_ptr<CallObserver>;
  /// Answers GetDevicePluginOptions.
  Opened options(Answering responder);
  /// Tells the loop of the stream, which shows the frames.
  Opened listAndWatch(Answering responder) const;
  /// Has the loop answer, or refuses a call for other than one container.
  Opened allocate(Answering responder, const v1beta1::AllocateRequest& request) const;
  /// GetPreferredAllocation: has the loop answer.
  Opened prefer(Answering responder, const v1beta1::PreferredAllocationRequest& request) const;
  /// PreStartContainer: has the loop answer.
  Opened preStart(Answering responder, const v1beta1::PreStartContainerRequest& request) const;

private:
  KubeletCall::Cancelled whenCancelled() const;

  const ResourceName resource_;
  PluginEvents& events_;
  const std::shared_ptr<TaskQueue> taskQueue_;
  std::atomic<bool> wantsPreStart_ = true;  ///< by the loop's thread
  std::atomic<bool> toldPreStart_ = true;   ///< by the queue's
};

/// Of v1beta1.DevicePlugin.
Methods methodsOf(const std::shared_ptr<DevicePluginService>& service);

}  // namespace vfiogate
