#include "tests/support/sim_sysfs/simulated_node.h"

#include <poll.h>

#include <cerrno>
#include <vector>

namespace vfiogate::sim {

Result<std::unique_ptr<SimulatedNode>, std::string> SimulatedNode::start(const Topology& topology,
                                                                         NodeOptions options) {
  std::unique_ptr<SimulatedNode> node(new SimulatedNode(topology));
  auto control = ControlServer::listen(options.control);
  if (!control) return Failure{control.error()};
  node->control_.emplace(std::move(control).value());
  auto files = FuseServer::mount(node->kernel_, options.directory);
  if (!files) return Failure{files.error()};
  node->files_ = std::move(files).value();
  node->injector_ = std::move(options.injector);
  return node;
}

void SimulatedNode::run(int stopFd) {
  for (;;) {
    std::vector<pollfd> waits{{stopFd, POLLIN, 0}, {files_->fd(), POLLIN, 0}};
    for (const int fd : control_->fds()) waits.push_back({fd, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents != 0 && !files_->serveOne()) return;
    // One request at a time, and all it leads to, before the next.
    settle();
    control_->serve(kernel_, switches_);
    settle();
  }
}

void SimulatedNode::settle() {
  for (const Uevent& event : kernel_.takeEvents()) {
    if (injector_ && switches_.uevents) injector_->inject(event);
  }
  for (const Ended& ended : kernel_.takeEnds()) {
    files_->answer(ended);
    control_->answer(ended);
  }
  control_->settle(kernel_.waiting().size());
}

}  // namespace vfiogate::sim
