#include "plugind/dra/serve/dra_service.h"

#include "plugind/kubelet/newest_stream.h"
#include "proto/dra_health_v1alpha1.pb.h"

#include <functional>
#include <utility>

namespace vfiogate {
namespace {

struct HealthMessage {
  v1alpha1::NodeWatchResourcesResponse message;
};

v1alpha1::HealthStatus wordFor(DraHealth health) {
  switch (health) {
    case DraHealth::kHealthy:
      return v1alpha1::HEALTHY;
    case DraHealth::kUnhealthy:
      return v1alpha1::UNHEALTHY;
    case DraHealth::kUnknown:
      break;
  }
  return v1alpha1::UNKNOWN;
}

std::shared_ptr<const HealthMessage> messageOf(const HealthFrame& frame,
                                               std::chrono::system_clock::time_point now) {
  auto made = std::make_shared<HealthMessage>();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  for (const DeviceHealth& device : frame) {
    v1alpha1::DeviceHealth& entry = *made->message.add_devices();
    entry.mutable_device()->set_pool_name(device.pool);
    entry.mutable_device()->set_device_name(device.device);
    entry.set_health(wordFor(device.health));
    entry.set_last_updated_time(seconds.count());
    entry.set_health_check_timeout_seconds(kHealthTimeout.count());
    entry.set_message(wireText(device.message));
  }
  return made;
}

class HealthCall final : public NewestStream<HealthMessage>, public HealthStream {
public:
  using Ended = std::function<void(const HealthStream&)>;

  HealthCall(std::shared_ptr<Responder> responder, Ended ended)
      : NewestStream(std::move(responder)), ended_(std::move(ended)) {}

  void send(const HealthFrame& frame) override {
    show(messageOf(frame, std::chrono::system_clock::now()));
  }

private:
  void ended() override { ended_(*this); }

  const Ended ended_;
};

std::shared_ptr<CallObserver> watch(DraEvents* events, const std::shared_ptr<TaskQueue>& taskQueue,
                                    const std::shared_ptr<Responder>& responder) {
  // Captures copies: the call may outlive its server by the time that gRPC takes to end it.
  auto ended = [taskQueue, events](const HealthStream& stream) {
    // Not sent: nobody is left who held the stream.
    static_cast<void>(
        taskQueue->post([events, stream = &stream]() { events->healthEnded(*stream); }));
  };
  const auto stream = std::make_shared<HealthCall>(responder, std::move(ended));
  const bool posted = taskQueue->post([events, stream]() { events->healthOpened(stream); });
  if (!posted) stream->end({grpc::StatusCode::UNAVAILABLE, "vfiogate is ending"});
  return stream;
}

}  // namespace

Methods healthMethods(DraEvents& events, const std::shared_ptr<TaskQueue>& taskQueue) {
  Methods methods;
  methods["/v1alpha1.DRAResourceHealth/NodeWatchResources"] =
      methodOf<v1alpha1::NodeWatchResourcesRequest>(
          [events = &events, taskQueue](const auto& responder, const auto& /*request*/) {
            return watch(events, taskQueue, responder);
          });
  return methods;
}

}  // namespace vfiogate
