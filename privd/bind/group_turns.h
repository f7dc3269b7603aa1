#pragma once
// One change of drivers in a group at a time.

#include "ipc/types/iommu_group.h"
#include "privd/base/broadcast.h"

#include <kj/async.h>

#include <set>

namespace vfiogate {

class GroupTurns {
public:
  bool busy(const IommuGroupId& group) const { return busy_.contains(group); }

  /// Resolves when all of these are the caller's; they are until leave().
  kj::Promise<void> enter(std::set<IommuGroupId> groups) {
    for (const IommuGroupId& group : groups) {
      if (!busy_.contains(group)) continue;
      return left_.next().then(
          [this, wanted = std::move(groups)]() mutable { return enter(std::move(wanted)); });
    }
    busy_.insert(groups.begin(), groups.end());
    return kj::READY_NOW;
  }

  void leave(const std::set<IommuGroupId>& groups) {
    for (const IommuGroupId& group : groups) busy_.erase(group);
    left_.notify();
  }

private:
  std::set<IommuGroupId> busy_;
  Broadcast left_;
};

}  // namespace vfiogate
