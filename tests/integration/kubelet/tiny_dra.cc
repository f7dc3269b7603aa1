#include "tests/integration/kubelet/tiny_dra.h"

#include "proto/dra_health_v1alpha1.grpc.pb.h"
#include "proto/dra_v1.grpc.pb.h"
#include "proto/dra_v1beta1.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace vfiogate::sim {
namespace {

namespace newer = k8s::io::kubelet::pkg::apis::dra::v1;
namespace older = k8s::io::kubelet::pkg::apis::dra::v1beta1;
constexpr std::chrono::seconds kDraPatience{20};

void setShareId(newer::Device& device, const std::optional<std::string>& shareId) {
  if (shareId) device.set_share_id(*shareId);
}
void setShareId(older::Device& /*device*/, const std::optional<std::string>& /*shareId*/) {}

template <typename Device>
void describe(const TinyDra::Device& from, Device& device) {
  for (const std::string& request : from.requests) device.add_request_names(request);
  device.set_pool_name(from.pool);
  device.set_device_name(from.device);
  for (const std::string& name : from.cdiDevices) device.add_cdi_device_ids(name);
  setShareId(device, from.shareId);
}

template <typename Request>
TinyDra::Call callOf(const Request& request, const grpc::ServerContext& context, bool prepare,
                     const char* version) {
  TinyDra::Call call{.prepare = prepare, .version = version, .uids = {}, .names = {}};
  for (const auto& claim : request.claims()) {
    call.uids.push_back(claim.uid());
    call.names.push_back(claim.namespace_() + "/" + claim.name());
  }
  call.came = TinyDra::Clock::now();
  call.within = std::chrono::round<std::chrono::milliseconds>(context.deadline() -
                                                              std::chrono::system_clock::now());
  return call;
}

}  // namespace

class TinyDra::Server {
public:
  Server(const std::string& socketPath, bool health)
      : newer_(*this, "v1"), older_(*this, "v1beta1"), health_(*this) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socketPath, grpc::InsecureServerCredentials());
    builder.RegisterService(&newer_);
    builder.RegisterService(&older_);
    if (health) builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
  }
  // Streams wait on our condition: gRPC's shutdown alone would wait for them for ever.
  ~Server() {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
      changed_.notify_all();
    }
    server_->Shutdown(std::chrono::system_clock::now());
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Answer answer(const Call& call) {
    std::unique_lock lock(mutex_);
    calls_.push_back(call);
    changed_.notify_all();
    const auto act = call.prepare ? onPrepare_ : onUnprepare_;
    lock.unlock();
    return act ? act(call) : prepared(call);
  }

  template <typename Service, typename Prepare, typename Prepared, typename Unprepare,
            typename Unprepared>
  class Version final : public Service {
  public:
    Version(Server& server, const char* name) : server_(server), name_(name) {}

    grpc::Status NodePrepareResources(grpc::ServerContext* context, const Prepare* request,
                                      Prepared* response) override {
      server_.heard(*context);
      const Answer answer = server_.answer(callOf(*request, *context, true, name_));
      for (const auto& [uid, reply] : answer.claims) {
        auto& claim = (*response->mutable_claims())[uid];
        claim.set_error(reply.error);
        for (const Device& device : reply.devices) describe(device, *claim.add_devices());
      }
      return statusOf(answer);
    }
    grpc::Status NodeUnprepareResources(grpc::ServerContext* context, const Unprepare* request,
                                        Unprepared* response) override {
      const Answer answer = server_.answer(callOf(*request, *context, false, name_));
      for (const auto& [uid, reply] : answer.claims) {
        (*response->mutable_claims())[uid].set_error(reply.error);
      }
      return statusOf(answer);
    }

  private:
    static grpc::Status statusOf(const Answer& answer) {
      if (answer.error.empty()) return grpc::Status::OK;
      return {grpc::StatusCode::UNAVAILABLE, answer.error};
    }
    Server& server_;
    const char* name_;
  };

  class HealthService final : public v1alpha1::DRAResourceHealth::Service {
  public:
    explicit HealthService(Server& server) : server_(server) {}
    grpc::Status NodeWatchResources(
        grpc::ServerContext* context, const v1alpha1::NodeWatchResourcesRequest* /*request*/,
        grpc::ServerWriter<v1alpha1::NodeWatchResourcesResponse>* writer) override {
      return server_.stream(*context, *writer);
    }

  private:
    Server& server_;
  };

  void heard(const grpc::ServerContext& context) {
    const std::lock_guard lock(mutex_);
    const auto authority = context.ExperimentalGetAuthority();
    authority_.assign(authority.data(), authority.size());
  }

  grpc::Status stream(grpc::ServerContext& context,
                      grpc::ServerWriter<v1alpha1::NodeWatchResourcesResponse>& writer) {
    std::unique_lock lock(mutex_);
    streams_.push_back(Clock::now());
    changed_.notify_all();
    const int myEnd = ends_;
    int sent = 0;
    while (true) {
      // A synchronous service is not woken by a hang-up: look for it now and then.
      changed_.wait_for(lock, std::chrono::milliseconds(20),
                        [&]() { return leaving_ || ends_ != myEnd || sent != shown_; });
      if (leaving_ || ends_ != myEnd || context.IsCancelled()) return grpc::Status::OK;
      if (sent == shown_) continue;
      sent = shown_;
      const auto frame = frame_;
      lock.unlock();
      writer.Write(frame);
      lock.lock();
    }
  }

  template <typename Holds>
  bool await(Holds holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDraPatience, holds);
  }
  std::vector<Call> calls(std::optional<bool> prepare) {
    const std::lock_guard lock(mutex_);
    std::vector<Call> some;
    for (const Call& call : calls_) {
      if (!prepare || call.prepare == *prepare) some.push_back(call);
    }
    return some;
  }
  std::size_t count(bool prepare) const {
    std::size_t sum = 0;
    for (const Call& call : calls_) sum += call.prepare == prepare ? 1 : 0;
    return sum;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;
  std::function<Answer(const Call&)> onPrepare_;
  std::function<Answer(const Call&)> onUnprepare_;
  std::vector<Call> calls_;
  std::vector<Clock::time_point> streams_;
  std::string authority_;
  v1alpha1::NodeWatchResourcesResponse frame_;
  int shown_ = 0;
  int ends_ = 0;

private:
  Version<newer::DRAPlugin::Service, newer::NodePrepareResourcesRequest,
          newer::NodePrepareResourcesResponse, newer::NodeUnprepareResourcesRequest,
          newer::NodeUnprepareResourcesResponse>
      newer_;
  Version<older::DRAPlugin::Service, older::NodePrepareResourcesRequest,
          older::NodePrepareResourcesResponse, older::NodeUnprepareResourcesRequest,
          older::NodeUnprepareResourcesResponse>
      older_;
  HealthService health_;
  std::unique_ptr<grpc::Server> server_;
};

TinyDra::TinyDra(const std::string& socketPath, bool health)
    : server_(std::make_unique<Server>(socketPath, health)) {}

TinyDra::~TinyDra() = default;

TinyDra::Answer TinyDra::prepared(const Call& call) {
  Answer answer;
  for (const std::string& uid : call.uids) {
    Reply& reply = answer.claims[uid];
    if (!call.prepare) continue;
    reply.devices.push_back({.device = uid, .cdiDevices = {"example.com/vfio=" + uid}});
  }
  return answer;
}

void TinyDra::onPrepare(std::function<Answer(const Call&)> act) {
  const std::lock_guard lock(server_->mutex_);
  server_->onPrepare_ = std::move(act);
}

void TinyDra::onUnprepare(std::function<Answer(const Call&)> act) {
  const std::lock_guard lock(server_->mutex_);
  server_->onUnprepare_ = std::move(act);
}

std::vector<TinyDra::Call> TinyDra::calls() const {
  return server_->calls(std::nullopt);
}

std::vector<TinyDra::Call> TinyDra::prepares() const {
  return server_->calls(true);
}

std::vector<TinyDra::Call> TinyDra::unprepares() const {
  return server_->calls(false);
}

bool TinyDra::awaitPrepares(std::size_t count) const {
  return server_->await([&]() { return server_->count(true) >= count; });
}

bool TinyDra::awaitUnprepares(std::size_t count) const {
  return server_->await([&]() { return server_->count(false) >= count; });
}

void TinyDra::show(const std::vector<Health>& devices) {
  const std::lock_guard lock(server_->mutex_);
  server_->frame_.Clear();
  for (const Health& health : devices) {
    auto* device = server_->frame_.add_devices();
    device->mutable_device()->set_pool_name(health.pool);
    device->mutable_device()->set_device_name(health.device);
    device->set_health(static_cast<v1alpha1::HealthStatus>(health.health));
    device->set_message(health.message);
    device->set_health_check_timeout_seconds(health.timeoutSeconds);
  }
  ++server_->shown_;
  server_->changed_.notify_all();
}

void TinyDra::endStreams() {
  const std::lock_guard lock(server_->mutex_);
  ++server_->ends_;
  server_->changed_.notify_all();
}

std::vector<TinyDra::Clock::time_point> TinyDra::streams() const {
  const std::lock_guard lock(server_->mutex_);
  return server_->streams_;
}

bool TinyDra::awaitStreams(std::size_t count) const {
  return server_->await([&]() { return server_->streams_.size() >= count; });
}

std::string TinyDra::authority() const {
  const std::lock_guard lock(server_->mutex_);
  return server_->authority_;
}

}  // namespace vfiogate::sim
