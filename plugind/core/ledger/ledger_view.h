#pragma once
// What the ledger says of one group, read only.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// One holder of a group.
struct HolderView {
  HolderState state = HolderState::kAnswered;
  std::optional<ClaimName> claim;
  ResourceName resource;
  std::set<UnitId> ids;
  std::set<UnitId> rest;
  std::string set{};  ///< the name of the set that `ids` are of; empty: of none
  std::chrono::sys_seconds since;
  HolderRef ref;
  std::optional<std::string> podName;
  std::optional<std::string> podUid;

  friend bool operator==(const HolderView&, const HolderView&) = default;
};

/// One group of the snapshot, or the former members of one that is gone.
struct GroupView {
  std::optional<IommuGroupId> group;  ///< absent: gone
  std::set<UnitId> members;
  Holding holding = Holding::kFree;
  GroupUse use = GroupUse::kUnknown;
  std::vector<HolderView> holders;
  bool disputed = false;                          ///< the holders are more than one party
  std::optional<std::chrono::sys_seconds> since;  ///< of `foreign` or `returning`

  friend bool operator==(const GroupView&, const GroupView&) = default;
};

/// The word of ledger.md 2 for it: "free", "taking", "answered", ...
std::string_view nameOf(Holding holding);

/// The reason code with which a request for a device of such a group is refused, where no closer
/// one applies ("starting", "disputed"); empty: free.
std::string_view refusalOf(Holding holding);

/// `records`: the indices of those that meet `members`, ascending.
GroupView viewOf(const LedgerState& state, const std::set<UnitId>& members,
                 const std::vector<std::size_t>& records);

}  // namespace vfiogate
