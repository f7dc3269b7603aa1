#include "privd/cdi/spec_nodes.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::string_view kDev = "/dev/";

}  // namespace

std::vector<std::string> nodesOnDisk(const DevRoot& dev, const Snapshot& hardware,
                                     const std::set<Bdf>& addresses, Backend backend) {
  auto nodes = vfioNodes(hardware, addresses, backend);
  const bool there = nodes && std::ranges::all_of(*nodes, [&dev](const std::string& node) {
                       return dev.hasCharacterDevice(node.substr(kDev.size()));
                     });
  return there ? *std::move(nodes) : std::vector<std::string>();
}

}  // namespace vfiogate
