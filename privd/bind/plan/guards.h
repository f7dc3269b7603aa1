#pragma once
// What speaks against a change of drivers: facts in, objections out.

#include "ipc/types/binding_change.h"
#include "ipc/types/selector.h"
#include "ipc/types/snapshot.h"
#include "privd/bind/plan/facts.h"

#include <optional>
#include <set>
#include <vector>

namespace vfiogate {

/// Who wants it, which decides what limits apply.
enum class ChangeBy : std::uint8_t {
  kOperator,     ///< root, who named an address: no --allow needed
  kDeclaration,  ///< --declare, bind --keep
  kAllocation,   ///< plugind
};

/// What was configured.
struct GuardSettings {
  std::vector<Selector> allow;
  std::vector<Selector> deny;
  std::vector<GuardOverride> overrides;
  bool allowStorage = false;
  bool allowUnguardedUnbind = false;
};

/// Whether plugind has allocated a group. kUnknown: it runs, and not all that it has allocated is
/// on file, or what is on file makes no sense.
enum class Allocated : std::uint8_t { kNo, kYes, kUnknown };

/// What is about to happen.
struct Situation {
  const Snapshot& snapshot;  ///< read now; has all members
  const IommuGroup& group;
  std::set<Bdf> changed;  ///< the members that the plan touches
  std::set<Bdf> named;    ///< those that the order names
  ChangeKind kind = ChangeKind::kBind;
  ChangeBy by = ChangeBy::kOperator;
  const GuardFacts& facts;
  Allocated allocated = Allocated::kNo;
  std::string allocation = {};  ///< to whom, or why that is not known; for people
  bool excluded = false;        ///< an operator excluded a member
  std::uint32_t vfs = 0;        ///< of kCreateVfs: how many are wanted
  std::optional<std::uint32_t> mostVfs = std::nullopt;  ///< that it can have
};

/// All of them, overridden ones marked. `overrides` are the order's own.
std::vector<Objection> objectionsTo(const Situation& situation, const GuardSettings& settings,
                                    const std::vector<GuardOverride>& overrides);

/// Whether an informed person may lift it.
bool mayBeOverridden(Guard guard);

/// True if one of these stands.
bool anyStands(const std::vector<Objection>& objections);

/// True for a member that an allocation of its group leaves as it is: a bridge, or a part of the
/// machine that no driver has, as the empty host bridges beside AMD's root ports.
bool standsAside(const PciDevice& device);

/// True if `settings` let a peer or a declaration touch the device at all.
bool permits(const GuardSettings& settings, const PciDevice& device);

}  // namespace vfiogate
