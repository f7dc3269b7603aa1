#pragma once
// What the record of allocations says of one group: a line an allocation, for the plugind after
// this one and for people.
//
//   resource=vfiogate.dev/gpu ids=0000:01:00.0 set=set:p1 ref=7f3a since=2026-11-23T10:42:07Z
//   named-by=12:1763841500000000000 pod=default/vm uid=6f0c... (on one line; what is not known is
//   left out)

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugind/core/holder_record.h"
#include "plugind/core/kubelet_memory.h"
#include "plugind/core/recorded_allocations.h"

namespace vfiogate {

struct Call;
struct LedgerState;
struct Take;

/// One line of a note.
struct NotedAllocation {
  ResourceName resource;
  std::set<UnitId> ids;
  std::string set{};  ///< the id of the set that they are of; empty: of none
  HolderRef ref;
  std::chrono::sys_seconds since;          ///< when it was allocated
  std::optional<KubeletIdentity> namedBy;  ///< the last kubelet that named it; absent: none did
  std::optional<std::string> podName;      ///< "namespace/name"
  std::optional<std::string> podUid;
  std::optional<std::string> claim;  ///< "namespace/name" of the claim that it was prepared for

  friend bool operator==(const NotedAllocation&, const NotedAllocation&) = default;
};

/// The line, without its end. Names that are no Kubernetes names are left out.
std::string lineOf(const NotedAllocation& allocation);
/// The line of a group that is being allocated.
std::string lineOf(const Call& call, const Take& take);
/// Lines that make no sense are left out.
std::vector<NotedAllocation> allocationsIn(std::string_view note);

/// The note of each group that is allocated or being allocated.
GroupNotes notesOf(const LedgerState& state);

}  // namespace vfiogate
