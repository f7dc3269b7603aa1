#include "tests/integration/kubelet/tiny_plugin.h"

#include "proto/deviceplugin.grpc.pb.h"
#include "sim/kubelet/kubelet_sim.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace vfiogate::sim {

class TinyPlugin::Service final : public v1beta1::DevicePlugin::Service {
public:
  Service(const std::string& socketPath, bool answersOptions) : answersOptions_(answersOptions) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socketPath, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  // Streams wait on our condition: gRPC's shutdown alone would wait for them for ever.
  ~Service() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
      changed_.notify_all();
    }
    server_->Shutdown(std::chrono::system_clock::now());
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context,
                                      const v1beta1::Empty* /*request*/,
                                      v1beta1::DevicePluginOptions* options) override {
    tell("GetDevicePluginOptions");
    const std::lock_guard lock(mutex_);
    ++optionsAsked_;
    const auto authority = context->ExperimentalGetAuthority();
    authority_.assign(authority.data(), authority.size());
    if (!answersOptions_) return {grpc::StatusCode::UNIMPLEMENTED, "no options here"};
    options->set_pre_start_required(options_.preStart);
    options->set_get_preferred_allocation_available(options_.preferred);
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    tell("ListAndWatch");
    std::unique_lock lock(mutex_);
    ++streams_;
    changed_.notify_all();
    const int myEnd = ends_;
    int sent = 0;
    while (true) {
      // A synchronous service is not woken by a hang-up: look for it now and then.
      changed_.wait_for(lock, std::chrono::milliseconds(20),
                        [&]() { return leaving_ || ends_ != myEnd || sent != version_; });
      if (leaving_ || ends_ != myEnd) return grpc::Status::OK;
      if (context->IsCancelled()) {
        ++cancelled_;
        changed_.notify_all();
        return grpc::Status::CANCELLED;
      }
      if (sent == version_) continue;
      sent = version_;
      const auto frame = frame_;
      lock.unlock();
      writer->Write(frame);  // that nobody took it shows as a hang-up
      lock.lock();
    }
  }

  grpc::Status Allocate(grpc::ServerContext* /*context*/, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    std::vector<std::string> ids;
    for (const auto& container : request->container_requests()) {
      ids.insert(ids.end(), container.devices_ids().begin(), container.devices_ids().end());
    }
    tell("Allocate", ids);
    std::function<Reply(const std::vector<std::string>&)> act;
    {
      const std::lock_guard lock(mutex_);
      allocations_.push_back(ids);
      containerRequests_.push_back(request->container_requests_size());
      act = act_;
    }
    const Reply reply = act ? act(ids) : Reply();
    if (!reply.error.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, reply.error};
    for (std::size_t i = 0; i < reply.containers; ++i) {
      (*response->add_container_responses()->mutable_envs())["IDS"] = ids.empty() ? "" : ids[0];
    }
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext* /*context*/,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    Wish wish{.containers = request->container_requests_size()};
    for (const auto& container : request->container_requests()) {
      const auto& available = container.available_deviceids();
      const auto& included = container.must_include_deviceids();
      wish.available.assign(available.begin(), available.end());
      wish.mustInclude.assign(included.begin(), included.end());
      wish.size = container.allocation_size();
    }
    tell("GetPreferredAllocation", wish.available);
    std::function<Preference(const Wish&)> act;
    {
      const std::lock_guard lock(mutex_);
      wishes_.push_back(wish);
      act = actPreferred_;
    }
    const Preference preference = act ? act(wish) : Preference();
    if (!preference.error.empty()) return {grpc::StatusCode::INTERNAL, preference.error};
    for (std::size_t i = 0; i < preference.containers; ++i) {
      auto* container = response->add_container_responses();
      for (const auto& id : preference.ids) container->add_deviceids(id);
    }
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext* /*context*/,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* /*response*/) override {
    const std::vector<std::string> ids(request->devices_ids().begin(),
                                       request->devices_ids().end());
    tell("PreStartContainer", ids);
    std::function<std::string(const std::vector<std::string>&)> act;
    {
      const std::lock_guard lock(mutex_);
      preStarts_.push_back(ids);
      act = actPreStart_;
    }
    const std::string error = act ? act(ids) : "";
    if (error.empty()) return grpc::Status::OK;
    return {grpc::StatusCode::FAILED_PRECONDITION, error};
  }

  void tell(const std::string& call, const std::vector<std::string>& ids = {}) {
    CallHook told;
    {
      const std::lock_guard lock(mutex_);
      told = told_;
    }
    if (told) told(call, ids);
  }

  void show(const std::vector<Device>& devices) {
    const std::lock_guard lock(mutex_);
    frame_.clear_devices();
    for (const auto& device : devices) {
      auto* added = frame_.add_devices();
      added->set_id(device.id);
      added->set_health(device.health);
      for (const long node : device.numaNodes) {
        added->mutable_topology()->add_nodes()->set_id(node);
      }
    }
    ++version_;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const bool answersOptions_;
  bool leaving_ = false;
  int optionsAsked_ = 0;
  std::string authority_;
  int streams_ = 0;
  int ends_ = 0;
  int cancelled_ = 0;
  int version_ = 0;
  v1beta1::ListAndWatchResponse frame_;
  CallHook told_;
  std::function<Reply(const std::vector<std::string>&)> act_;
  std::vector<std::vector<std::string>> allocations_;
  std::vector<int> containerRequests_;
  Options options_;
  std::function<Preference(const Wish&)> actPreferred_;
  std::function<std::string(const std::vector<std::string>&)> actPreStart_;
  std::vector<Wish> wishes_;
  std::vector<std::vector<std::string>> preStarts_;

private:
  std::unique_ptr<grpc::Server> server_;
};

TinyPlugin::TinyPlugin(const std::string& socketPath, bool answersOptions)
    : service_(std::make_unique<Service>(socketPath, answersOptions)) {}

TinyPlugin::~TinyPlugin() = default;

void TinyPlugin::show(const std::vector<Device>& devices) {
  service_->show(devices);
}

void TinyPlugin::endStreams() {
  const std::lock_guard lock(service_->mutex_);
  ++service_->ends_;
  service_->changed_.notify_all();
}

void TinyPlugin::onAllocate(std::function<Reply(const std::vector<std::string>&)> act) {
  const std::lock_guard lock(service_->mutex_);
  service_->act_ = std::move(act);
}

void TinyPlugin::onCall(CallHook told) {
  const std::lock_guard lock(service_->mutex_);
  service_->told_ = std::move(told);
}

std::string TinyPlugin::authority() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->authority_;
}

void TinyPlugin::can(Options options) {
  const std::lock_guard lock(service_->mutex_);
  service_->options_ = options;
}

void TinyPlugin::onPreferred(std::function<Preference(const Wish&)> act) {
  const std::lock_guard lock(service_->mutex_);
  service_->actPreferred_ = std::move(act);
}

void TinyPlugin::onPreStart(std::function<std::string(const std::vector<std::string>&)> act) {
  const std::lock_guard lock(service_->mutex_);
  service_->actPreStart_ = std::move(act);
}

std::vector<TinyPlugin::Wish> TinyPlugin::wishes() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->wishes_;
}

std::vector<std::vector<std::string>> TinyPlugin::preStarts() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->preStarts_;
}

int TinyPlugin::optionsAsked() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->optionsAsked_;
}

bool TinyPlugin::awaitStreams(int count) {
  std::unique_lock lock(service_->mutex_);
  return service_->changed_.wait_for(lock, kPatience,
                                     [&]() { return service_->streams_ >= count; });
}

bool TinyPlugin::awaitCancelled(int count) {
  std::unique_lock lock(service_->mutex_);
  return service_->changed_.wait_for(lock, kPatience,
                                     [&]() { return service_->cancelled_ >= count; });
}

std::vector<std::vector<std::string>> TinyPlugin::allocations() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->allocations_;
}

std::vector<int> TinyPlugin::containerRequests() const {
  const std::lock_guard lock(service_->mutex_);
  return service_->containerRequests_;
}

std::string askToRegister(const std::string& deviceDir, const std::string& endpoint,
                          const std::string& resource, const std::string& version) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
      "unix:" + deviceDir + "/kubelet.sock", grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1beta1::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  v1beta1::Empty answer;
  const auto status = stub->Register(&context, request, &answer);
  if (status.ok()) return "";
  return std::to_string(status.error_code()) + ": " + status.error_message();
}

}  // namespace vfiogate::sim
