#include "plugind/self_test/played_kubelet.h"

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::chrono::seconds kCallPatience{10};
constexpr std::chrono::seconds kStreamPatience{40};

/// One call's.
struct Context : grpc::ClientContext {
  Context() { set_deadline(std::chrono::system_clock::now() + kCallPatience); }
};

std::string device() {
  return ScratchPlaces::device().str();
}

std::shared_ptr<grpc::Channel> channelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

PlayedKubelet::PlayedKubelet(const ScratchPlaces& places) : directory_(places.directory) {
  grpc::ServerBuilder builder;
  for (const std::string& path : {places.registration(), places.podResources()}) {
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  }
  builder.RegisterService(static_cast<v1beta1::Registration::Service*>(this));
  builder.RegisterService(static_cast<v1::PodResourcesLister::Service*>(this));
  server_ = builder.BuildAndStart();
}

PlayedKubelet::~PlayedKubelet() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

std::optional<std::string> PlayedKubelet::awaitPlugin(std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this]() { return left_ || !plugin_.empty(); });
  if (left_ || plugin_.empty()) return std::nullopt;
  return directory_ + "/" + plugin_;
}

void PlayedKubelet::plugindLeft() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

grpc::Status PlayedKubelet::Register(grpc::ServerContext* /*context*/,
                                     const v1beta1::RegisterRequest* request,
                                     v1beta1::Empty* /*response*/) {
  const std::lock_guard lock(mutex_);
  plugin_ = request->endpoint();
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status PlayedKubelet::List(grpc::ServerContext* /*context*/,
                                 const v1::ListPodResourcesRequest* /*request*/,
                                 v1::ListPodResourcesResponse* /*response*/) {
  return grpc::Status::OK;
}

PlayedCalls::PlayedCalls(const std::string& socket)
    : plugin_(v1beta1::DevicePlugin::NewStub(channelTo(socket))) {}

PlayedCalls::~PlayedCalls() {
  watching_.TryCancel();
  if (frames_) frames_->Finish();
}

grpc::Status PlayedCalls::watch() {
  watching_.set_deadline(std::chrono::system_clock::now() + kStreamPatience);
  frames_ = plugin_->ListAndWatch(&watching_, {});
  v1beta1::ListAndWatchResponse frame;
  while (frames_->Read(&frame)) {
    const bool shown = std::ranges::any_of(frame.devices(), [](const v1beta1::Device& one) {
      return one.id() == device() && one.health() == "Healthy";
    });
    if (shown) return grpc::Status::OK;
  }
  return std::exchange(frames_, nullptr)->Finish();
}

grpc::Status PlayedCalls::options() {
  Context context;
  v1beta1::DevicePluginOptions options;
  return plugin_->GetDevicePluginOptions(&context, {}, &options);
}

grpc::Status PlayedCalls::prefer() {
  Context context;
  v1beta1::PreferredAllocationRequest request;
  auto* const container = request.add_container_requests();
  container->add_available_deviceids(device());
  container->set_allocation_size(1);
  v1beta1::PreferredAllocationResponse response;
  return plugin_->GetPreferredAllocation(&context, request, &response);
}

grpc::Status PlayedCalls::allocate() {
  Context context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(device());
  v1beta1::AllocateResponse response;
  return plugin_->Allocate(&context, request, &response);
}

grpc::Status PlayedCalls::start() {
  Context context;
  v1beta1::PreStartContainerRequest request;
  request.add_devices_ids(device());
  v1beta1::PreStartContainerResponse response;
  return plugin_->PreStartContainer(&context, request, &response);
}

}  // namespace vfiogate
