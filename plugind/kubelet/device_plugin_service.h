#pragma once
// v1beta1.DevicePlugin for one resource: gRPC's words to the loop's and back, no decisions.

#include "ipc/base/kube_names.h"
#include "plugind/base/task_queue.h"
#include "plugind/kubelet/kubelet_call.h"
#include "plugind/kubelet/list_watch_stream.h"

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

class DevicePluginService final : public v1beta1::DevicePlugin::CallbackService {
public:
  /// `events` hears of calls through `taskQueue` for as long as that is open.
  DevicePluginService(ResourceName resource, PluginEvents& events,
                      std::shared_ptr<TaskQueue> taskQueue);

  /// From the next registration on; true at first.
  void wantPreStart(bool wanted) { wantsPreStart_ = wanted; }
  /// What the kubelet was told last.
  bool toldPreStart() const { return toldPreStart_; }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty* request,
                                                   v1beta1::DevicePluginOptions* answer) override;
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* context, const v1beta1::Empty* request) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* answer) override;
  grpc::ServerUnaryReactor* GetPreferredAllocation(
      grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
      v1beta1::PreferredAllocationResponse* answer) override;
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const v1beta1::PreStartContainerRequest* request,
                                              v1beta1::PreStartContainerResponse* answer) override;

private:
  KubeletCall::Cancelled whenCancelled() const;

  const ResourceName resource_;
  PluginEvents& events_;
  const std::shared_ptr<TaskQueue> taskQueue_;
  std::atomic<bool> wantsPreStart_ = true;  ///< by the loop's thread
  std::atomic<bool> toldPreStart_ = true;   ///< by gRPC's
};

}  // namespace vfiogate
