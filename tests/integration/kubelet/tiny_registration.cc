#include "tests/integration/kubelet/tiny_registration.h"

#include "sim/kubelet/kubelet_sim.h"

#include <fstream>
#include <sstream>
#include <thread>

namespace vfiogate::sim {
namespace {

namespace wire = pluginregistration;

/// Whether the kernel knows a connection that came in at `path`.
bool isConnected(const std::string& path) {
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number;
    std::string references;
    std::string protocol;
    std::string flags;
    std::string type;
    std::string state;
    std::string inode;
    std::string name;
    words >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
    if (name == path && state == "03") return true;
  }
  return false;
}

}  // namespace

TinyRegistration::TinyRegistration(const std::string& socketPath, const std::string& type,
                                   const std::string& name,
                                   const std::vector<std::string>& versions,
                                   const std::string& endpoint)
    : path_(socketPath) {
  info_.set_type(type);
  info_.set_name(name);
  info_.set_endpoint(endpoint);
  for (const std::string& version : versions) info_.add_supported_versions(version);
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  socket_ = std::make_unique<LastingSocket>(socketPath, *server_);
}

TinyRegistration::~TinyRegistration() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    changed_.notify_all();
  }
  socket_.reset();
  server_->Shutdown(std::chrono::system_clock::now());
}

void TinyRegistration::answerAfter(std::chrono::milliseconds info,
                                   std::chrono::milliseconds notify) {
  const std::lock_guard lock(mutex_);
  infoAfter_ = info;
  notifyAfter_ = notify;
}

void TinyRegistration::linger(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds pause) {
  changed_.wait_for(lock, pause, [this]() { return leaving_; });
}

grpc::Status TinyRegistration::GetInfo(grpc::ServerContext* context,
                                       const wire::InfoRequest* /*request*/,
                                       wire::PluginInfo* info) {
  std::unique_lock lock(mutex_);
  ++asked_;
  const auto authority = context->ExperimentalGetAuthority();
  authority_.assign(authority.data(), authority.size());
  changed_.notify_all();
  *info = info_;
  linger(lock, infoAfter_);
  return grpc::Status::OK;
}

grpc::Status TinyRegistration::NotifyRegistrationStatus(
    grpc::ServerContext* /*context*/, const wire::RegistrationStatus* status,
    wire::RegistrationStatusResponse* /*nothing*/) {
  std::unique_lock lock(mutex_);
  notices_.push_back({status->plugin_registered(), status->error()});
  changed_.notify_all();
  linger(lock, notifyAfter_);
  return grpc::Status::OK;
}

bool TinyRegistration::awaitAsked(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&]() { return asked_ >= count; });
}

bool TinyRegistration::awaitNotices(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&]() { return notices_.size() >= count; });
}

bool TinyRegistration::awaitHungUp() const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // Nothing tells of it: look now and then.
  while (isConnected(path_)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

std::size_t TinyRegistration::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::vector<TinyRegistration::Notice> TinyRegistration::notices() {
  const std::lock_guard lock(mutex_);
  return notices_;
}

std::string TinyRegistration::authority() {
  const std::lock_guard lock(mutex_);
  return authority_;
}

}  // namespace vfiogate::sim
