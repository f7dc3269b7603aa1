#pragma once
// Everything the ledger knows, as one value, and what can be read off it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/kubelet_memory.h"
#include "plugind/core/ledger/state/calls.h"
#include "plugind/core/ledger/state/hardware_facts.h"
#include "plugind/core/timing.h"

namespace vfiogate {

/// ledger.md 2: the state of a group, apart from its viability and its use.
enum class Holding : std::uint8_t {
  kFree,
  kTaking,     ///< a request is being decided
  kAnswered,   ///< granted to the kubelet, not yet named by it
  kAllocated,  ///< named; or several records
  kForgotten,  ///< a new kubelet process no longer knows it
  kLingering,  ///< let go, still open
  kForeign,    ///< open, by nobody we know
  kReturning,  ///< going back to its host driver
};

/// How the ledger behaves; the rest of the configuration comes with the catalogue.
struct LedgerSettings {
  std::chrono::milliseconds grace{60'000};
  std::chrono::milliseconds allocateWait{5'000};
  std::chrono::milliseconds bindDeadline = timing::kBindDeadline;
  std::chrono::milliseconds emptyResourceAfter{0};  ///< 0: a resource never ends
  std::chrono::milliseconds holdDown{30'000};       ///< 0: devices that flap do not rest
  RefusalDetail refusalDetail = RefusalDetail::kReference;
  /// False for a caller that cannot read what the kubelet remembers: the ledger counts as adopted,
  /// nothing is looked for, and nothing is ever released.
  bool remembers = true;

  friend bool operator==(const LedgerSettings&, const LedgerSettings&) = default;
};

/// The use of one function's group, as long as readings agree.
struct UseTrack {
  GroupUse use = GroupUse::kUnknown;
  Instant first;  ///< the first reading of this streak
  Instant last;
  bool probedIdle = false;  ///< the latest answer came from a probe that succeeded

  friend bool operator==(const UseTrack&, const UseTrack&) = default;
};

/// What a kubelet wrote last that is gone.
struct LostMemory {
  CheckpointVersion version;
  Instant since;  ///< when the kubelet that lost it was gone, too
  friend bool operator==(const LostMemory&, const LostMemory&) = default;
};

/// A group that is `foreign` or `returning`: states without a holder.
struct GroupMark {
  Holding holding = Holding::kForeign;
  std::set<UnitId> members;
  Instant since;
  std::chrono::sys_seconds sinceWall;
  std::optional<Instant> unconfirmedSince;  ///< since when hardware cannot tell

  friend bool operator==(const GroupMark&, const GroupMark&) = default;
};

/// One id in a resource's frames.
struct ShownDevice {
  FrameDevice device;
  std::optional<Instant> lostAt;  ///< since when nothing asks for it (60 s rule)

  friend bool operator==(const ShownDevice&, const ShownDevice&) = default;
};

/// What one resource shows, showed, and may not show again yet.
struct ShownResource {
  std::map<std::string, ShownDevice> devices;
  std::map<std::string, Instant> left;  ///< when an id was dropped (10 s rule)
  std::set<UnitId> representatives;
  bool sent = false;
  std::optional<Instant> emptySince;  ///< nothing is in its frame, and nothing may come back soon

  friend bool operator==(const ShownResource&, const ShownResource&) = default;
};

/// Whether hardware and configuration let us offer a device, as last told.
struct OfferTrack {
  std::optional<std::string> told;       ///< the reason code of what is against it; empty: nothing
  std::chrono::sys_seconds toldAt;       ///< when that became so
  bool good = false;                     ///< nothing is, but that it may rest
  std::optional<ResourceName> resource;  ///< the last one it was in
  std::vector<Instant> flips;            ///< when it became good or bad, ascending
  std::optional<Instant> restUntil;      ///< it flaps, or could not be bound
  bool bindFailed = false;               ///< that is why it rests

  friend bool operator==(const OfferTrack&, const OfferTrack&) = default;
};

/// When the next reconcile is due, and what runs.
struct ReconcilePlan {
  bool running = false;
  bool forCall = false;           ///< a call asked after the running one had begun
  bool beganAfterFrame = false;   ///< the running one began kAdoptionWait past the first frame
  std::optional<Instant> wanted;  ///< asked for since then, outside calls
  std::optional<Instant> lastBegan;
  std::optional<Instant> lastEnded;
  std::optional<Instant> lastList;

  friend bool operator==(const ReconcilePlan&, const ReconcilePlan&) = default;
};

/// An id in the kubelet's memory that stands for nothing (foreign_ids.h).
struct ForeignId {
  std::uint64_t epoch = 0;             ///< of the last kubelet whose memory had it
  std::optional<Instant> missedSince;  ///< since when that of a later one was seen to lack it

  friend bool operator==(const ForeignId&, const ForeignId&) = default;
};
using ForeignIds = std::map<ResourceName, std::map<std::string, ForeignId>>;

struct LastRefusal {
  std::chrono::sys_seconds time;
  Refusal refusal;
  friend bool operator==(const LastRefusal&, const LastRefusal&) = default;
};

struct LedgerState {
  LedgerSettings settings;

  bool privdThere = false;
  bool hardwareKnown = false;
  std::optional<Instant> awaySince;  ///< grace counts from here
  std::chrono::sys_seconds awayAt;   ///< when it went, last
  bool allocationClosed = true;      ///< privd away, and grace over or ended by a refusal
  bool waitUsed = false;             ///< one Allocate of the outage has waited
  HardwareFacts hardware;
  ResourceCatalog catalog;
  std::map<UnitId, UseTrack> use;

  std::optional<KubeletIdentity> kubelet;
  std::uint64_t epoch = 0;
  Instant epochSince;
  std::optional<CheckpointVersion> version;  ///< the latest one read that this kubelet wrote
  /// The latest one read of a kubelet before it. This one began with what it says, so it tells what
  /// a pod was given; it proves nothing else.
  std::optional<CheckpointVersion> inherited;
  bool inheritedGoesOn = false;  ///< this one has that in its memory, as far as it lives
  /// Of those before it what no kubelet was seen to go on from, for as long as a forgotten holder
  /// without a name has its devices.
  std::vector<LostMemory> lost;
  std::set<UnitId> inheritedNaming;  ///< what was named by all these, and had a record

  ForeignIds foreignIds;  ///< under our resources, of pods that nobody saw end
  /// Of each of these resources the devices that it has had since; at the start also as privd's
  /// record says.
  std::map<ResourceName, std::set<UnitId>> suspected;

  /// Which kubelet had named the grants of privd's record at the start, by their references.
  std::map<std::string, KubeletIdentity> namedBefore;

  bool noCheckpoint = false;  ///< at the start the kubelet had written none
  bool begun = false;         ///< step 1 of adoption is done: resources may be registered
  bool adopted = false;       ///< step 2 is
  std::optional<Instant> firstFrame;
  ReconcilePlan reconcile;
  Instant lastEvent;  ///< what was due until then was done
  /// All that follows from the state has been worked out, and nothing else is due before this but
  /// the deadlines of open calls (fast_path.h). Absent: not known.
  std::optional<Instant> fastUntil;

  std::vector<HolderRecord> records;
  std::vector<GroupMark> marks;
  std::map<CallId, Call> calls;
  /// Claims whose spec could not be unlinked, and when that was tried last.
  std::map<std::string, Instant> failedUnlinks;
  std::map<ResourceName, ShownResource> shown;
  std::map<IommuGroupId, Instant> asked;  ///< when privd was asked last, outside calls
  bool tellAllocated = true;              ///< even if they are as before: privd is new
  GroupNotes told;                        ///< as last told to privd
  std::map<UnitId, LastRefusal> refusals;
  std::map<UnitId, OfferTrack> offers;
  std::map<ResourceName, std::set<UnitId>>
      draUnits;  ///< of those allocated to claims by whole groups

  friend bool operator==(const LedgerState&, const LedgerState&) = default;
};

/// One event while it is handled.
struct Turn {
  LedgerState& state;
  const Moment& now;
  Effects& out;
};

/// This kubelet wrote it, and not one that is gone: it is no older than the socket.
bool isOwn(const LedgerState& state, const CheckpointVersion& version);

/// The members of every present group that any of `addresses` is in, and these themselves.
std::set<UnitId> reachOf(const LedgerState& state, const std::set<UnitId>& addresses);
/// The number of the group that one of `addresses` is in now.
std::optional<IommuGroupId> groupNumber(const LedgerState& state,
                                        const std::set<UnitId>& addresses);
/// The records that keep a group with these members from others, by index.
std::vector<std::size_t> recordsMeeting(const LedgerState& state, const std::set<UnitId>& members);
/// The taking that has one of these members; null: none. `except`: a call that does not count.
const Take* takeMeeting(const LedgerState& state, const std::set<UnitId>& members,
                        std::optional<CallId> except = std::nullopt);
const GroupMark* markMeeting(const LedgerState& state, const std::set<UnitId>& members,
                             Holding holding);
Holding holdingOf(const LedgerState& state, const std::set<UnitId>& members);
/// The same, where `records` are known to be those that meet the members.
Holding holdingOf(const LedgerState& state, const std::set<UnitId>& members,
                  const std::vector<std::size_t>& records);
/// True if these records, by index, are of one party: a claim, or a pod that has devices of one
/// group through several resources.
bool ofOneParty(const LedgerState& state, const std::vector<std::size_t>& records);
/// "Held" of ledger.md 2: answered, allocated or forgotten.
bool isHeld(Holding holding);

/// The readings of all of `members` together: the worst, and since when.
UseTrack useOf(const LedgerState& state, const std::set<UnitId>& members);
/// Two readings at least a second apart with this result, the latter not before `notBefore`.
bool confirmed(const UseTrack& track, GroupUse use, Instant notBefore);

HolderRef freshRef(const LedgerState& state, std::uint16_t draw);
JournalEvent journalEvent(const Turn& turn, const HolderRecord& record, const std::string& reason);

}  // namespace vfiogate
