#pragma once
// The node of the traps (kubelet-contract.md 8): that of the timelines.

#include "tests/integration/timelines/timelines.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

namespace vfiogate::test {

class Traps : public Timelines {
protected:
  /// A pod with an init container and another, both with one of the first resource.
  static sim::PodSpec withInit(const std::string& uid) {
    return {.uid = uid,
            .initContainers = {{"init", {{kGpu, 1}}}},
            .containers = {{"compute", {{kGpu, 1}}}}};
  }
  /// Of the pod last admitted, too: the kubelet keeps that one's devices until another comes.
  void end(const std::string& pod) {
    kubelet().end(pod);
    kubelet().admit({.uid = "after-" + pod, .initContainers = {}, .containers = {{"compute", {}}}});
  }
  /// The machine goes off, and nothing of vfiogate runs.
  void powerOff() {
    kubelet().powerOff();
    node_->killPlugind();
    node_->killPrivd();
  }
  std::filesystem::path pluginDirectory() { return node_->directory("kubelet/device-plugins"); }
  /// Names and inodes of our sockets: a new one under an old name is another.
  std::map<std::string, ino_t> ownSockets() {
    std::map<std::string, ino_t> sockets;
    for (const auto& entry : std::filesystem::directory_iterator(pluginDirectory())) {
      const std::string name = entry.path().filename();
      struct stat status = {};
      if (!name.starts_with("vfiogate-")) continue;
      if (lstat(entry.path().c_str(), &status) == 0) sockets[name] = status.st_ino;
    }
    return sockets;
  }
};

}  // namespace vfiogate::test
