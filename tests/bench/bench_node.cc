#include "tests/bench/bench_node.h"

#include "privd/pci_scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace vfiogate::bench {
namespace {

constexpr const char* kResource = "vfiogate.dev/10de_2684";
constexpr const char* kConfig = "resources:\n  - select: {vendor: \"10de\"}\n";
constexpr uid_t kPlugindUid = 64532;
constexpr unsigned kFunctions = 8;
constexpr unsigned kSlots = 32;

std::string addressOf(unsigned number) {
  char text[32];
  snprintf(text, sizeof(text), "0000:%02x:%02x.%u", 1 + number / (kFunctions * kSlots),
           number / kFunctions % kSlots, number % kFunctions);
  return text;
}

}  // namespace

void giveUp(const std::string& why) {
  throw std::runtime_error(why);
}

BenchNode::BenchNode(unsigned devices)
    : devices_(devices),
      sysfs_(*SysfsRoot::open(hardware_.sysfs())),
      dev_(*DevRoot::open(hardware_.dev())) {
  chmod(dir_.path().c_str(), 0755);
  for (const char* name : {"privd", "plugind", "kubelet", "kubelet/device-plugins"}) {
    std::filesystem::create_directory(dir_.path() / name);
  }
  if (chown((dir_ / "plugind").c_str(), kPlugindUid, kPlugindUid) != 0) giveUp("needs root");
  for (unsigned i = 0; i < devices; ++i) {
    hardware_.add({.address = addressOf(i), .group = i, .numaNode = 0});
  }
  std::ofstream(dir_ / "config.yaml") << kConfig;
  kubelet_.emplace(dir_ / "kubelet");
  kubelet_->start();
  startPlugind();
  startPrivd();
  refill();
}

void BenchNode::startPrivd() {
  privd_.emplace(std::vector<std::string>{
      test::builtProgram("privd"), "serve", "--socket", dir_ / "privd/privd.sock", "--plugind",
      dir_ / "plugind/plugind.sock", "--sysfs", hardware_.sysfs(), "--dev", hardware_.dev(),
      "--kubelet-dir", dir_ / "kubelet", "--state-dir", dir_ / "state", "--uevents", "off"});
  if (!privd_->says("event=started")) giveUp("privd does not start: " + privd_->output());
}

void BenchNode::startPlugind() {
  plugind_.reset();
  plugind_.emplace(std::vector<std::string>{test::builtProgram("plugind"), "--listen",
                                            dir_ / "plugind/plugind.sock", "--config",
                                            dir_ / "config.yaml"});
  if (!plugind_->says("event=started")) giveUp("plugind does not start: " + plugind_->output());
}

void BenchNode::refill() {
  const bool shown = kubelet_->await(
      kResource, [this](const sim::DeviceTable& table) { return table.allocatable() == devices_; });
  if (!shown) giveUp("the kubelet never saw the devices: " + plugind_->output());
  free_.clear();
  for (unsigned i = 0; i < devices_; ++i) free_.push_back(addressOf(i));
  connect();
  adopt();
}

void BenchNode::connect() {
  std::string socket;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "kubelet/device-plugins")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("vfiogate-")) socket = entry.path();
  }
  const auto channel = grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + test::kPatience)) {
    giveUp("nobody serves on " + socket);
  }
  plugin_ = v1beta1::DevicePlugin::NewStub(channel);
}

void BenchNode::adopt() {
  askFor(free_.front());
  free_.pop_front();
  callEmpty();
}

v1beta1::AllocateResponse BenchNode::askFor(const std::string& device) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(device);
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  const grpc::Status status = plugin_->Allocate(&context, request, &response);
  if (!status.ok())
    giveUp(device + " was refused: " + status.error_message() + "\n" + plugind_->output());
  return response;
}

Took BenchNode::allocate() {
  if (free_.empty()) {
    ++restarts_;
    const std::size_t before = kubelet_->registrations(kResource);
    startPlugind();
    if (!kubelet_->awaitRegistrations(kResource, before + 1)) giveUp("plugind stays away");
    refill();
  }
  const std::string device = free_.front();
  free_.pop_front();
  const auto began = Clock::now();
  const v1beta1::AllocateResponse response = askFor(device);
  const Took took = Clock::now() - began;
  if (response.container_responses(0).devices_size() != 2) giveUp("an answer without nodes");
  return took;
}

Took BenchNode::callEmpty() {
  v1beta1::DevicePluginOptions options;
  grpc::ClientContext context;
  const auto began = Clock::now();
  const grpc::Status status = plugin_->GetDevicePluginOptions(&context, {}, &options);
  const Took took = Clock::now() - began;
  if (!status.ok()) giveUp("GetDevicePluginOptions: " + status.error_message());
  return took;
}

Took BenchNode::readGroup() {
  const IommuGroupId group(read_++ % devices_);
  const auto began = Clock::now();
  const Snapshot seen = scanGroup(sysfs_, dev_, group);
  const Took took = Clock::now() - began;
  if (seen.groups.at(group).use != GroupUse::kIdle) giveUp("a group that is not idle");
  return took;
}

}  // namespace vfiogate::bench
