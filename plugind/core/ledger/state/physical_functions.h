#pragma once
// A physical function keeps its virtual ones from others, over their groups: who has it has a hand
// in what their holders do. That it is not offered while it has any is the other half
// (viability.h).

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// Those of virtual functions among `members` that are not members themselves.
std::set<UnitId> physicalFunctionsOf(const Snapshot& snapshot, const std::set<UnitId>& members);

/// One that somebody has, or is about to get, by this ledger.
struct AllocatedPhysicalFunction {
  Bar bar;                        ///< reason "pf-allocated"
  std::vector<std::string> refs;  ///< of who has it
  std::chrono::sys_seconds since;
};

/// Of the virtual functions among `members`. Null: there is none. What is open and nobody's known
/// here does not count: a host may use it itself, and its virtual functions be allocated.
std::optional<AllocatedPhysicalFunction> allocatedPhysicalFunction(const LedgerState& state,
                                                                   const std::set<UnitId>& members);

}  // namespace vfiogate
