#include "privd/binder/group_probes.h"

#include <fcntl.h>

#include <string>

namespace vfiogate {
namespace {

constexpr auto kPause = 1 * kj::SECONDS;

}  // namespace

kj::Promise<int> GroupProbes::probe(IommuGroupId group) {
  const auto now = timer_.now();
  std::erase_if(opened_, [now](const auto& entry) { return entry.second + kPause <= now; });
  const auto opened = opened_.find(group);
  if (opened == opened_.end()) return openAndClose(group);
  return timer_.atTime(opened->second + kPause).then([this, group]() { return probe(group); });
}

int GroupProbes::openAndClose(IommuGroupId group) {
  const auto node = dev_.openNode("vfio/" + std::to_string(group.number()), O_RDWR);
  if (!node) return node.error().error;
  opened_.insert_or_assign(group, timer_.now());
  return 0;
}

}  // namespace vfiogate
