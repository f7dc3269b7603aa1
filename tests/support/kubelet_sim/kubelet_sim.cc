#include "tests/support/kubelet_sim/kubelet_sim.h"

#include "ipc/types/resource_name.h"
#include "tests/support/kubelet_sim/sim_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;
constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

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

/// The kubelet's Registration service.
class KubeletSim::Desk final : public v1beta1::Registration::Service {
public:
  Desk(KubeletSim& kubelet, const std::string& socketPath) : kubelet_(kubelet) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socketPath, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Desk() override { server_->Shutdown(std::chrono::system_clock::now()); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    State& state = *kubelet_.state_;
    Manner manner{};
    {
      const std::lock_guard lock(state.mutex);
      manner = state.manner;
    }
    if (manner == Manner::kRefuses) return {grpc::StatusCode::UNKNOWN, "not today"};
    if (manner == Manner::kSilent) {
      std::unique_lock lock(state.mutex);
      ++state.resources[request->resource_name()].registrations;
      state.changed.notify_all();
      while (!state.stopping && !context->IsCancelled()) {
        state.changed.wait_for(lock, std::chrono::milliseconds(20));
      }
      return {grpc::StatusCode::UNKNOWN, "never meant to answer"};
    }
    const std::string error = kubelet_.registerPlugin(*request);
    if (!error.empty()) return {grpc::StatusCode::UNKNOWN, error};
    if (manner == Manner::kClosesAfterRegister) kubelet_.dropStream(request->resource_name());
    return grpc::Status::OK;
  }

private:
  KubeletSim& kubelet_;
  std::unique_ptr<grpc::Server> server_;
};

bool isExtendedResourceName(const std::string& name) {
  return ResourceName::parse(name).has_value();
}

KubeletSim::KubeletSim(std::string kubeletDir, KubeletOptions options)
    : state_(std::make_unique<State>()) {
  state_->directory = std::move(kubeletDir) + "/device-plugins";
  state_->options = options;
  state_->random.seed(options.seed);
}

KubeletSim::~KubeletSim() {
  stop();
}

void KubeletSim::start() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = false;
    state_->readCheckpoint();
    for (const auto& entry : fs::directory_iterator(state_->directory)) {
      if (fs::is_socket(entry.status())) fs::remove(entry.path());
    }
  }
  state_->desk = std::make_unique<Desk>(*this, state_->socketPath("kubelet.sock"));
}

void KubeletSim::stop() {
  std::vector<std::shared_ptr<PluginClient>> clients;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    clients = std::move(state_->retired);
    state_->retired.clear();
    for (auto& [name, resource] : state_->resources) {
      if (resource.client) clients.push_back(std::move(resource.client));
    }
    state_->changed.notify_all();
  }
  // A killed kubelet leaves its socket; gRPC would unlink it.
  const std::string socket = state_->socketPath("kubelet.sock");
  std::error_code ignored;
  fs::rename(socket, socket + ".kept", ignored);
  state_->desk.reset();
  fs::rename(socket + ".kept", socket, ignored);
  clients.clear();  // joins their readers: not under the lock, which they take
  const std::lock_guard lock(state_->mutex);
  state_->resources.clear();
  state_->recorded.clear();
}

void KubeletSim::behave(Manner manner) {
  const std::lock_guard lock(state_->mutex);
  state_->manner = manner;
}

std::string KubeletSim::registerPlugin(const v1beta1::RegisterRequest& request) {
  const std::string& name = request.resource_name();
  if (request.version() != "v1beta1") return "unsupported API version " + request.version();
  if (!isExtendedResourceName(name)) return "invalid resource name " + name;
  const auto client = std::make_shared<PluginClient>(state_->socketPath(request.endpoint()));
  {
    const std::lock_guard lock(state_->mutex);
    auto& resource = state_->resources[name];
    if (resource.client) state_->retired.push_back(std::move(resource.client));
    resource.client = client;
  }
  const auto giveUp = [&](const std::string& why) {
    const std::lock_guard lock(state_->mutex);
    state_->resources[name].client = nullptr;  // also where an older one worked (K10)
    return why;
  };
  if (!client->connect(state_->options.dialWithin)) return giveUp("context deadline exceeded");
  v1beta1::DevicePluginOptions options;
  const grpc::Status asked = client->options(options, state_->options.optionsWithin);
  if (!asked.ok()) return giveUp("failed to get options: " + asked.error_message());
  const std::weak_ptr<PluginClient> weak = client;
  client->watch(
      [this, name](const PluginClient::Frame& frame) {
        const std::lock_guard lock(state_->mutex);
        ResourceState& resource = state_->resources[name];
        resource.devices.take(devicesOf(frame));
        ++resource.frames;
        state_->writeCheckpoint();
        state_->changed.notify_all();
      },
      [this, name]() {
        const std::lock_guard lock(state_->mutex);
        if (state_->stopping) return;
        ResourceState& resource = state_->resources[name];
        resource.devices.disconnect();
        ++resource.streamsEnded;
        if (resource.client) state_->retired.push_back(std::move(resource.client));
        resource.client = nullptr;
        state_->changed.notify_all();
      });
  const std::lock_guard lock(state_->mutex);
  ++state_->resources[name].registrations;
  state_->changed.notify_all();
  return "";
}

void KubeletSim::State::writeCheckpoint() {
  Checkpoint checkpoint;
  if (!recorded.empty()) checkpoint.entries = recorded;
  for (const auto& [name, resource] : resources) {
    const auto& healthy = resource.devices.healthy();
    checkpoint.registered[name] = {healthy.begin(), healthy.end()};
  }
  const std::string text = formatCheckpoint(checkpoint);
  const std::string temporary = directory + "/.checkpoint-in-the-making";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  fsync(fd);
  close(fd);
  if (!written) return;
  fs::rename(temporary, directory + "/" + kCheckpoint);
  ++checkpointWrites;
}

void KubeletSim::State::readCheckpoint() {
  const std::ifstream file(directory + "/" + kCheckpoint);
  std::stringstream text;
  text << file.rdbuf();
  const auto checkpoint = parseCheckpoint(text.str());
  if (!checkpoint) return;
  recorded = checkpoint->entries.value_or(std::vector<CheckpointEntry>());
  for (const auto& [name, ids] : checkpoint->registered) resources.try_emplace(name);
}

bool KubeletSim::await(const std::string& resource,
                       const std::function<bool(const DeviceTable&)>& holds) {
  return state_->await([&]() { return holds(state_->resources[resource].devices); });
}

bool KubeletSim::shows(const std::string& resource, const std::set<std::string>& healthy,
                       const std::set<std::string>& unhealthy) {
  return await(resource, [&](const DeviceTable& devices) {
    return devices.healthy() == healthy && devices.unhealthy() == unhealthy;
  });
}

bool KubeletSim::awaitRegistrations(const std::string& resource, std::size_t times) {
  return state_->await([&]() { return state_->resources[resource].registrations >= times; });
}

bool KubeletSim::awaitFrames(const std::string& resource, std::size_t count) {
  return state_->await([&]() { return state_->resources[resource].frames >= count; });
}

DeviceTable KubeletSim::devices(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].devices;
}

std::size_t KubeletSim::frames(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].frames;
}

std::size_t KubeletSim::registrations(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].registrations;
}

std::size_t KubeletSim::streamsEnded(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].streamsEnded;
}

std::vector<std::string> KubeletSim::resources() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, resource] : state_->resources) names.push_back(name);
  return names;
}

void KubeletSim::dropStream(const std::string& resource) {
  std::shared_ptr<PluginClient> client;
  {
    const std::lock_guard lock(state_->mutex);
    client = state_->resources[resource].client;
  }
  if (client) client->close();
}

std::string KubeletSim::crash() {
  const std::lock_guard lock(state_->mutex);
  return state_->crash;
}

std::size_t KubeletSim::checkpointWrites() {
  const std::lock_guard lock(state_->mutex);
  return state_->checkpointWrites;
}

}  // namespace vfiogate::sim
