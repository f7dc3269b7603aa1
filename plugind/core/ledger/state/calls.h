#pragma once
// The calls that the ledger decides, while it does.
// A request of the kubelet, with what it could know when it asked.

#include "ipc/api/api_claim.h"
#include "plugind/core/group_reading.h"
#include "plugind/core/ledger/state/effects.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/frame.h"
#include "plugind/core/resource/resource_catalog.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// The kubelet's request for one container.
struct AllocateRequest {
  ResourceName resource;
  std::vector<std::string> ids;  ///< as the kubelet sent them
  Frame shown;  ///< the last frame sent on the resource's live stream; no less than `ids` of it

  friend bool operator==(const AllocateRequest&, const AllocateRequest&) = default;
};

/// NodePrepareResources for one claim: all its devices that are ours.
struct PrepareRequest {
  ClaimName claim;
  std::map<ResourceName, std::set<UnitId>> devices;
  std::map<UnitId, DeviceParameters> parameters;  ///< of those that have any
  std::map<UnitId, std::string> sets{};           ///< of those that are asked for by a set: its id

  friend bool operator==(const PrepareRequest&, const PrepareRequest&) = default;
};

struct PreStartRequest {
  ResourceName resource;
  std::vector<std::string> ids;  ///< as the kubelet sent them

  friend bool operator==(const PreStartRequest&, const PreStartRequest&) = default;
};

/// One group of a call that is in `taking`. What it was before stays in records and marks.
struct Take {
  ResourceName resource;
  AllocationSettings allocation;
  std::set<UnitId> ids;
  std::set<UnitId> members;  ///< of the group when it was taken
  std::chrono::sys_seconds since;
  HolderRef ref;
  bool forClaim = false;
  bool givesBack = false;               ///< of an Unprepare
  std::string set{};                    ///< the id of the set that `ids` are of; empty: of none
  std::string offered;                  ///< the fingerprint of `ids` when they were taken
  bool bind = false;                    ///< a bind is made for it, once privd has answered
  bool binding = false;                 ///< and was begun
  bool bound = false;                   ///< and was made
  std::optional<GroupReading> reading;  ///< privd's answer

  friend bool operator==(const Take&, const Take&) = default;
};

enum class CallKind : std::uint8_t { kAllocate, kPrepare, kUnprepare, kPreStart };

enum class CallStage : std::uint8_t {
  kQueued,          ///< behind another call for the same claim (row 45)
  kWaitsPrivd,      ///< rows 1, 36
  kWaitsReconcile,  ///< rows 2, 8
  kTaking,          ///< privd was asked (rows 7, 12, 13)
  kWaitsSpec,       ///< the claim's spec is being written, or unlinked
  kWaitsBind,       ///< of a PreStart
  kChecking,        ///< of what is held: privd was asked what is there now
};

/// One undecided call.
struct Call {
  CallId id;
  CallKind kind = CallKind::kAllocate;
  CallStage stage = CallStage::kTaking;
  AllocateRequest allocate;               ///< of an Allocate; resource and ids also of a PreStart
  std::optional<PrepareRequest> prepare;  ///< of a Prepare; only the claim of an Unprepare
  Instant arrived;
  Instant deadline;
  bool reconcileAsked = false;  ///< a reconcile inside this call was begun after it came
  bool reconcileMade = false;   ///< and is over
  bool again = false;           ///< row 6: prepared before, the spec is being re-made
  bool specAsked = false;       ///< a spec was to be written that no record stands behind
  std::map<IommuGroupId, Take> groups;
  std::map<IommuGroupId, std::optional<GroupReading>> checks;  ///< of what is held: privd's answers
  bool checkedBound = false;  ///< of a PreStart: asked again after a bind
  std::map<IommuGroupId, UnitId>
      bindsAsked;  ///< of a PreStart: begun for it, for one of its devices

  friend bool operator==(const Call&, const Call&) = default;
};

}  // namespace vfiogate
