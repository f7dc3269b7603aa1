#include "tests/bench/allocate/bench_node.h"

#include "privd/scan/pci_scan.h"

#include <utility>

namespace vfiogate::bench {

BenchNode::BenchNode(unsigned devices, unsigned perCall)
    : perCall_(perCall),
      node_(devices),
      sysfs_(*SysfsRoot::open(node_.hardware().sysfs())),
      dev_(*DevRoot::open(node_.hardware().dev())) {
  for (unsigned i = 0; i < devices; ++i) all_.push_back(addressOf(i));
  refill();
}

void BenchNode::refill() {
  free_.assign(all_.begin(), all_.end());
  client_.emplace(socket());
  adopt();
}

void BenchNode::adopt() {
  askFor(takeNext(1));
  callEmpty();
}

Took BenchNode::askFor(const Devices& devices) {
  const PluginClient::Answer answer = client_->allocate(devices);
  if (!answer.status.ok()) {
    giveUp(devices.front() + " was refused: " + answer.status.error_message() + "\n" +
           node_.plugind().output());
  }
  // Each is in a group of its own, and one node is common to all.
  if (!std::cmp_equal(answer.response.container_responses(0).devices_size(), devices.size() + 1)) {
    giveUp("an answer without nodes");
  }
  return answer.took;
}

Took BenchNode::allocate() {
  return askFor(takeFree(1).front());
}

Devices BenchNode::takeNext(unsigned count) {
  const auto last = free_.begin() + count;
  Devices next(free_.begin(), last);
  free_.erase(free_.begin(), last);
  return next;
}

std::vector<Devices> BenchNode::takeFree(unsigned callers) {
  if (free_.size() < std::size_t{callers} * perCall_) {
    ++restarts_;
    node_.restartPlugind();
    node_.awaitAll();
    refill();
  }
  if (free_.size() < std::size_t{callers} * perCall_) {
    giveUp(std::to_string(devices()) + " devices are too few: one comes first, then " +
           std::to_string(callers) + " times " + std::to_string(perCall_) + " are asked for");
  }
  std::vector<Devices> requests;
  while (requests.size() < callers) requests.push_back(takeNext(perCall_));
  return requests;
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
