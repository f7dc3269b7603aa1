// Registration: who serves a resource, and what becomes of its frames.

#include "sim/kubelet/registration_server.h"
#include "sim/kubelet/sim_state.h"

#include <algorithm>
#include <utility>

namespace vfiogate::sim {
namespace {

std::vector<SeenDevice> devicesOf(const PluginClient::Frame& frame) {
  std::vector<SeenDevice> devices;
  for (const v1beta1::Device& device : frame.devices()) {
    SeenDevice seen{device.id(), device.health(), {}};
    for (const v1beta1::NUMANode& node : device.topology().nodes()) {
      seen.numaNodes.push_back(static_cast<long>(node.id()));
    }
    devices.push_back(std::move(seen));
  }
  return devices;
}

}  // namespace

KubeletSim::Service::Service(KubeletSim& kubelet, const std::string& socketPath)
    : kubelet_(kubelet) {
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  socket_ = std::make_unique<LastingSocket>(socketPath, *server_);
}

KubeletSim::Service::~Service() {
  socket_.reset();  // nobody new
  server_->Shutdown(std::chrono::system_clock::now());
}

grpc::Status KubeletSim::Service::Register(grpc::ServerContext* context,
                                           const v1beta1::RegisterRequest* request,
                                           v1beta1::Empty* /*answer*/) {
  State& state = *kubelet_.state_;
  Manner manner{};
  std::string refusal;
  {
    std::unique_lock lock(state.mutex);
    manner = state.manner;
    refusal = state.refusal;
    state.tell("Register " + request->resource_name() + " at " + request->endpoint());
    state.changed.wait_for(lock, state.late, [&]() { return state.stopping; });
  }
  if (manner == Manner::kRefuses) return {grpc::StatusCode::UNKNOWN, refusal};
  if (manner == Manner::kSilent) return keepSilent(*context, request->resource_name());
  const std::string error = kubelet_.registerPlugin(*request, context->deadline());
  if (!error.empty()) {
    const std::lock_guard lock(state.mutex);
    state.tell("Register " + request->resource_name() + " refused: " + error);
    return {grpc::StatusCode::UNKNOWN, error};
  }
  if (manner == Manner::kClosesAfterRegister) kubelet_.dropStream(request->resource_name());
  return grpc::Status::OK;
}

grpc::Status KubeletSim::Service::keepSilent(const grpc::ServerContext& context,
                                             const std::string& resource) {
  State& state = *kubelet_.state_;
  std::unique_lock lock(state.mutex);
  ++state.resources[resource].registrations;
  state.changed.notify_all();
  // A synchronous service is not woken when its caller leaves: look for it now and then.
  while (!state.stopping && !context.IsCancelled()) {
    state.changed.wait_for(lock, std::chrono::milliseconds(20));
  }
  return {grpc::StatusCode::UNKNOWN, "never meant to answer"};
}

std::string KubeletSim::registerPlugin(const v1beta1::RegisterRequest& request,
                                       std::chrono::system_clock::time_point deadline) {
  const std::string& name = request.resource_name();
  if (request.version() != "v1beta1") {
    return "requested API version \"" + request.version() +
           "\" is not supported by kubelet. Supported version is [\"v1beta1\"]";
  }
  if (!isExtendedResourceName(name)) return "the ResourceName \"" + name + "\" is invalid";
  const auto limit = std::chrono::system_clock::now() + state_->options.dialWithin;
  return serveFrom(name, state_->socketPath(request.endpoint()), std::min(limit, deadline),
                   state_->options.optionsWithin);
}

std::string KubeletSim::serveFrom(const std::string& name, const std::string& socketPath,
                                  std::chrono::system_clock::time_point dialDeadline,
                                  std::optional<std::chrono::milliseconds> optionsWithin) {
  const auto client = std::make_shared<PluginClient>(socketPath);
  std::uint64_t born = 0;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return "the kubelet stops";
    born = state_->life;
    auto& resource = state_->resources[name];
    if (resource.client) state_->retired.push_back(std::move(resource.client));
    resource.client = client;
    resource.dialing = true;
  }
  const auto giveUp = [&](const std::string& why) {
    const std::lock_guard lock(state_->mutex);
    if (state_->life != born) return why;
    // Whoever is in the table now goes, older ones too; the endpoint stays as it was (K10). Not
    // destroyed here: that joins a reader which may be waiting for this lock.
    auto& current = state_->resources[name].client;
    if (current) state_->retired.push_back(std::move(current));
    current = nullptr;
    return why;
  };
  if (!client->connect(dialDeadline)) return giveUp("context deadline exceeded");
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->life != born) return "the kubelet stops";
    if (state_->resources[name].client == client) state_->resources[name].dialing = false;
  }
  v1beta1::DevicePluginOptions options;
  const grpc::Status asked = client->options(options, optionsWithin);
  if (!asked.ok()) return giveUp("failed to get options: " + asked.error_message());
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->life != born) return "the kubelet stops";
    ResourceState& resource = state_->resources[name];
    ++resource.registrations;
    resource.endpoint = Endpoint{.client = client, .options = options, .stopped = {}};
    state_->tell("registered " + name);
    state_->changed.notify_all();
  }
  // A callback may come after stop(), and even after the next start().
  const auto ifAlive = [this, born](const auto& act) {
    const std::lock_guard lock(state_->mutex);
    if (state_->life != born) return;
    act();
    state_->changed.notify_all();
  };
  client->watch(
      [this, name, ifAlive](const PluginClient::Frame& frame) {
        if (state_->options.heard) state_->options.heard(frame);
        ifAlive([&]() { state_->take(name, frame); });
      },
      [this, name, ifAlive, ended = client.get()]() {
        ifAlive([&]() { state_->streamEnded(name, ended); });
      });
  return "";
}

void KubeletSim::State::take(const std::string& resourceName, const PluginClient::Frame& frame) {
  ResourceState& resource = resources[resourceName];
  resource.known = true;
  resource.devices.take(devicesOf(frame));
  ++resource.frames;
  tell("frame of " + resourceName + ": " + std::to_string(resource.devices.healthy().size()) +
       " healthy, " + std::to_string(resource.devices.unhealthy().size()) + " unhealthy");
  writeCheckpoint();
  if (resource.frames == framesUntilHangUp && resource.client) resource.client->close();
}

void KubeletSim::State::streamEnded(const std::string& resourceName, const PluginClient* ended) {
  ResourceState& resource = resources[resourceName];
  ++resource.streamsEnded;
  tell("a stream of " + resourceName + " has ended");
  if (options.endsOnlyItsOwn && resource.client.get() != ended) return;
  // Whoever is current, the one that ended or not (K9).
  disconnect(resourceName);
}

void KubeletSim::State::disconnect(const std::string& resourceName) {
  ResourceState& resource = resources[resourceName];
  if (!resource.client) return;  // not noticed (K10)
  if (!resource.dialing) resource.client->close();
  retired.push_back(std::move(resource.client));
  resource.client = nullptr;
  if (!resource.endpoint) return;
  resource.devices.disconnect();
  resource.endpoint->stopped = options.now();
}

}  // namespace vfiogate::sim
