#pragma once
// Which addresses are allocated together: the members of a group, whatever its number is.

#include <set>

#include "ipc/types/snapshot.h"

namespace vfiogate {

/// The addresses of the group that has `address`, itself included; itself alone if it is gone or
/// has no group.
std::set<Bdf> groupMembers(const Snapshot& snapshot, const Bdf& address);

/// True if the sets have an address in common.
bool meet(const std::set<Bdf>& left, const std::set<Bdf>& right);

}  // namespace vfiogate
