#pragma once
// What plugind was told of the groups, and so what is news to it.

#include "ipc/binder/binder_packets.h"

#include <map>
#include <optional>
#include <utility>

namespace vfiogate {

/// The groups' bindings as plugind has them, by what it was told. What an operator excluded is told
/// by the gate: here it makes no difference.
class ToldGroups {
public:
  /// What of `now` plugind does not know, as much as one packet takes, told first of all even where
  /// there is nothing; counts as told from now on. A group that is gone, or has other members, is
  /// told as one of which nothing is known. Null: there is no news.
  std::optional<binder::Changed> news(const Snapshot& now, bool mayBind);

private:
  std::map<IommuGroupId, binder::GroupState> told_;  ///< those whose binding is not all false
  std::optional<std::pair<bool, SysfsWriting>> head_;
};

}  // namespace vfiogate
