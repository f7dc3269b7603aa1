#pragma once
// What every resource shows the kubelet (ledger.md 8), made anew from state plus what was shown:
// which devices may be offered and do not change too often, which of them a resource advertises,
// which stand for their groups in the pool, and which resources have nothing left to show.

#include "plugind/core/ledger/state/ledger_state.h"

#include <map>
#include <set>

namespace vfiogate {

/// Makes the frames again. Those that changed are effects of the turn.
void makeFrames(Turn& turn);

/// When the 60 s or the 10 s rule changes a frame next.
std::optional<Instant> framesDue(const LedgerState& state);

/// The frame that a resource shows now.
Frame frameOf(const ShownResource& shown);

/// The tickets that the kubelet has recorded, by the latest version of its memory.
std::set<std::string> ticketsHeld(const LedgerState& state, const ResourceName& resource);
/// Those that the resource counts now, by the frames made so far: one a companion, and the further
/// ones of each id that the resource with them has a reason to show, offered or held, so that who
/// finds such an id free finds as many tickets free.
std::set<std::string> ticketsWanted(const LedgerState& state, const ResourceName& resource);
/// What it goes along with is Healthy in the frames made so far; or the ticket is recorded, and a
/// companion's is there: which of them a pod gets along with which device is the kubelet's choice.
bool isTicketHealthy(const LedgerState& state, const ResourceName& resource, const std::string& id);

struct Occupancy;
/// All units of the set answer, and it is held or could be. One that was let go in part is not held
/// once another party has what was let go.
bool isSetHealthy(const LedgerState& state, const Occupancy& occupancy,
                  const ResourceName& resource, const std::string& id);

/// Of one state; read while that stays as it is.
struct Occupancy {
  /// By resource: what a record of the kubelet's keeps Healthy in its frame, held or about to be.
  std::map<ResourceName, std::set<UnitId>> kept;
  /// The same of sets, by id, with the units that somebody has under it still: one may have been
  /// let go before the others. They are not in `kept` and `names`: no frame shows them there.
  std::map<ResourceName, std::map<std::string, std::set<UnitId>>> keptSets;
  /// The resources under whose names somebody has the device, or had it and has it open.
  std::map<UnitId, std::set<ResourceName>> names;
  /// Members of groups that are not free.
  std::set<UnitId> engaged;
};

/// The members of all records, open calls and marks.
std::set<UnitId> engagedUnits(const LedgerState& state);

/// What is held, by resource and by unit, worked out from all records, open calls and marks.
Occupancy occupancyOf(const LedgerState& state);

/// The device's group is not free.
bool isEngaged(const LedgerState& state, const Occupancy& occupancy, const UnitId& id);
/// The physical function of a virtual one in the device's group is allocated.
bool isPfAllocated(const LedgerState& state, const Occupancy& occupancy, const UnitId& id);

/// Compares with what was told before: one journal line for each reason. `flips`: what changed is
/// the hardware's doing, so it counts for those that flap. After the facts or the catalogue
/// changed.
void tellOffers(Turn& turn, bool flips);
/// Those that have been steady long enough are offered again.
void endRests(Turn& turn);
std::optional<Instant> restDue(const LedgerState& state);

/// They could not be bound: they rest, so that the next pod is not sent into the same wall.
void restUnbound(Turn& turn, const std::set<UnitId>& members);

/// The device came and went too often, or could not be bound, and rests: it is shown Unhealthy
/// unless held.
bool isResting(const LedgerState& state, const UnitId& id);
/// The latter.
bool restsUnbound(const LedgerState& state, const UnitId& id);

/// The devices that stand in the resource's frame for their groups (ledger.md 8, `groupUnit`).
std::set<UnitId> advertisedIn(const LedgerState& state, const Occupancy& occupancy,
                              const ResourceName& resource);

/// Chooses the units again. One that was chosen stays, as names of devices should: another one
/// takes over only where it goes, or where somebody holds the group by another device. After
/// makeFrames(), so that both paths show the same one.
void keepDraUnits(Turn& turn);

const std::set<UnitId>& draUnitsOf(const LedgerState& state, const ResourceName& resource);

/// Ends the resources that have had nothing in their frame, and nothing that may come back, for as
/// long as the settings let them stay. After makeFrames().
void endEmpty(Turn& turn);
/// When one is due.
std::optional<Instant> emptyDue(const LedgerState& state);

/// What the plugind before us had registered and is for claims only now is registered once more,
/// empty, to end with other options. Before the first frames.
void showMoved(LedgerState& state, const ResourceName& resource);
/// For claims alone: those that are shown, empty, as long as the kubelet's memory has an id that
/// stands for nothing, or a pod under whatever name. Without a stream of ours nobody makes the
/// kubelet write anew, and so nobody learns that it ended; the gate need not serve that name.
std::set<ResourceName> shownToListen(const LedgerState& state);
/// False: the kubelet shall start containers without PreStartContainer. So it is for a resource
/// that is for claims only, and that nobody holds through the kubelet any more: a pod whose claim
/// the scheduler made for the resource's name has nothing recorded there, and would not start until
/// the kubelet has forgotten the resource, 5 min after its end.
bool wantsPreStart(const LedgerState& state, const ResourceName& resource);

}  // namespace vfiogate
