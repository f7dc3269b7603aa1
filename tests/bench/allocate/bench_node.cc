#include "tests/bench/allocate/bench_node.h"

#include "privd/scan/pci_scan.h"

namespace vfiogate::bench {

BenchNode::BenchNode(unsigned devices)
    : node_(devices),
      sysfs_(*SysfsRoot::open(node_.hardware().sysfs())),
      dev_(*DevRoot::open(node_.hardware().dev())) {
  for (unsigned i = 0; i < devices; ++i) all_.push_back(addressOf(i));
  refill();
}

void BenchNode::refill() {
  free_.assign(all_.begin(), all_.end());
  client_.emplace(node_.kubeletDirectory());
  adopt();
}

void BenchNode::adopt() {
  askFor(free_.front());
  free_.pop_front();
  callEmpty();
}

Took BenchNode::askFor(const std::string& device) {
  const PluginClient::Answer answer = client_->allocate(device);
  if (!answer.status.ok()) {
    giveUp(device + " was refused: " + answer.status.error_message() + "\n" +
           node_.plugind().output());
  }
  if (answer.response.container_responses(0).devices_size() != 2) giveUp("an answer without nodes");
  return answer.took;
}

Took BenchNode::allocate() {
  return askFor(takeFree(1).front());
}

std::vector<std::string> BenchNode::takeFree(std::size_t count) {
  if (free_.size() < count) {
    ++restarts_;
    node_.restartPlugind();
    node_.awaitAll();
    refill();
  }
  if (free_.size() < count) giveUp("fewer devices than callers, of whom one comes first");
  const auto last = free_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<std::string> taken(free_.begin(), last);
  free_.erase(free_.begin(), last);
  return taken;
}

Took BenchNode::readGroup() {
  const IommuGroupId group(read_++ % devices());
  const auto began = Clock::now();
  const Snapshot seen = scanGroup(sysfs_, dev_, group);
  const Took took = Clock::now() - began;
  if (seen.groups.at(group).use != GroupUse::kIdle) giveUp("a group that is not idle");
  return took;
}

}  // namespace vfiogate::bench
