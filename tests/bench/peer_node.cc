#include "tests/bench/peer_node.h"

#include <filesystem>
#include <utility>

namespace vfiogate::bench {
namespace {

constexpr const char* kPeersResource = "nvidia.com/2684";  // no pci.ids where it looks
/// $1: the kubelet's directory, $2: /sys, $3: /dev, $4: the plugin.
constexpr const char* kInOurPlace =
    "mount -t tmpfs places /var/lib && mkdir /var/lib/kubelet && "
    "mount --bind \"$1\" /var/lib/kubelet && mount --rbind \"$2\" /sys && "
    "mount --rbind \"$3\" /dev && exec \"$4\"";

std::string made(const std::string& directory) {
  std::filesystem::create_directories(directory + "/device-plugins");
  return directory;
}

}  // namespace

PeerNode::PeerNode(unsigned devices, std::string plugin, sim::KubeletOptions kubelet)
    : devices_(devices),
      plugin_(std::move(plugin)),
      kubelet_(made(dir_ / "kubelet"), std::move(kubelet)) {
  for (unsigned i = 0; i < devices; ++i) {
    hardware_.add({.address = addressOf(i), .group = i, .numaNode = 0});
  }
  kubelet_.start();
  start();
  const auto isWhole = [devices](const sim::DeviceTable& table) {
    return table.allocatable() == devices;
  };
  if (!kubelet_.await(kPeersResource, isWhole)) {
    giveUp(plugin_ + " does not show its devices: " + process_->output());
  }
  client_.emplace(socket());
}

void PeerNode::start() {
  process_ = std::make_unique<test::ChildProcess>(
      std::vector<std::string>{"/usr/bin/unshare", "--mount", "sh", "-c", kInOurPlace, "sh",
                               dir_ / "kubelet", hardware_.sysfs(), hardware_.dev(), plugin_});
}

void PeerNode::stop() {
  const std::size_t before = kubelet_.streamsEnded(kPeersResource);
  process_.reset();
  if (!kubelet_.awaitStreamsEnded(kPeersResource, before + 1)) {
    giveUp("the peer's stream never ends");
  }
}

Devices PeerNode::nextDevices(unsigned count) {
  Devices next;
  while (next.size() < count) next.push_back(addressOf(asked_++ % devices_));
  return next;
}

Took PeerNode::allocate(unsigned count) {
  const PluginClient::Answer answer = client_->allocate(nextDevices(count));
  if (!answer.status.ok()) giveUp("the peer refuses: " + answer.status.error_message());
  // Each is in a group of its own, and one node is common to all.
  if (std::cmp_less_equal(answer.response.container_responses(0).devices_size(), count)) {
    giveUp("the peer answers without nodes");
  }
  return answer.took;
}

}  // namespace vfiogate::bench
