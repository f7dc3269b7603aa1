#include "sim/sysfs/simulated_node.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

namespace vfiogate::sim {

using std::chrono::ceil;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Result<std::unique_ptr<SimulatedNode>, std::string> SimulatedNode::start(const Topology& topology,
                                                                         NodeOptions options) {
  std::unique_ptr<SimulatedNode> node(new SimulatedNode(topology));
  auto control = ControlServer::listen(options.control);
  if (!control) return Failure{control.error()};
  node->control_.emplace(std::move(control).value());
  auto files = FuseServer::mount(node->kernel_, options.directory, options.openNodes);
  if (!files) return Failure{files.error()};
  node->files_ = std::move(files).value();
  node->switches_.isNodeOpen = [files = node->files_.get()](const std::string& path) {
    return files->isNodeOpen(path);
  };
  node->injector_ = std::move(options.injector);
  node->delivery_ = std::move(options.delivery);
  return node;
}

void SimulatedNode::run(int stopFd) {
  for (;;) {
    std::vector<pollfd> waits{{stopFd, POLLIN, 0}, {files_->fd(), POLLIN, 0}};
    for (const int fd : control_->fds()) waits.push_back({fd, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), patience()) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents != 0 && !files_->serveOne()) return;
    // One request at a time, and all it leads to, before the next.
    settle();
    control_->serve(kernel_, switches_);
    settle();
  }
}

int SimulatedNode::patience() const {
  const auto due = delivery_.due();
  if (!due) return -1;
  const auto left = ceil<milliseconds>(*due - steady_clock::now());
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

void SimulatedNode::settle() {
  std::vector<Uevent> fresh = kernel_.takeEvents();
  if (!switches_.uevents) fresh.clear();
  for (const Uevent& event : delivery_.take(std::move(fresh), steady_clock::now())) {
    if (injector_) injector_->inject(event);
  }
  for (const Ended& ended : kernel_.takeEnds()) {
    files_->answer(ended);
    control_->answer(ended);
  }
  control_->settle(kernel_.waiting().size());
}

}  // namespace vfiogate::sim
