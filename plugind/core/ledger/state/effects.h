#pragma once
// What the ledger asks of the world after an event.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugind/core/holder_record.h"
#include "plugind/core/recorded_allocations.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/frame.h"

namespace vfiogate {

/// Names one call of the kubelet or of `netd`, from its arrival to its answer. Given by the caller.
using CallId = StrongId<struct CallTag, std::uint64_t>;

/// One line of the ledger's journal, as a value.
struct JournalEvent {
  std::string event;  ///< "allocated", "released", "refused", ...: a reason code of ledger.md 7
  std::chrono::sys_seconds time;
  std::optional<IommuGroupId> group;     ///< absent: it has none now
  std::optional<ResourceName> resource;  ///< absent: nobody's
  std::set<UnitId> ids;
  std::set<UnitId> rest;
  std::set<UnitId> members;
  std::optional<HolderRef> ref;
  std::string reason;                   ///< the reason code
  std::string text;                     ///< for people; the refusal's text
  std::vector<std::string> foreignIds;  ///< of a refused request, as the kubelet sent them
  std::optional<ClaimName> claim;
  std::optional<std::string> podName;  ///< the log may name a pod, a refusal may not
  std::optional<std::string> podUid;

  friend bool operator==(const JournalEvent&, const JournalEvent&) = default;
};

/// The one answer to a call: granted with a response, refused, or done.
struct Answer {
  CallId call;
  std::optional<AllocationResponse> response;  ///< an Allocate or Prepare that was granted
  std::optional<Refusal> refusal;

  friend bool operator==(const Answer&, const Answer&) = default;
};

/// privd is to read the use of a group now; the answer comes back as Ledger::groupRead.
struct UseQuestion {
  IommuGroupId group;
  std::optional<CallId> call;  ///< the call that waits for it
  bool probe = false;          ///< opening the group is allowed, where privd can

  friend bool operator==(const UseQuestion&, const UseQuestion&) = default;
};

/// To be carried out in the order of the members; all of it, before the next event.
struct Effects {
  std::vector<JournalEvent> journal;
  /// The groups that privd shall take as allocated from now on, whole, with their notes; absent: as
  /// before.
  std::optional<GroupNotes> allocated;
  GroupNotes alsoAllocated;              ///< and these besides
  bool releaseOthers = false;            ///< adopted: privd releases what `allocated` does not name
  std::map<ResourceName, Frame> frames;  ///< those that changed: to every live stream, then
  std::set<ResourceName> ended;          ///< nothing is left to show of these: served no more
  std::vector<Answer> answers;           ///< the replies; never before the frames
  std::vector<UseQuestion> questions;
  std::vector<IommuGroupId> binds;       ///< answered by Ledger::bindEnded
  std::vector<IommuGroupId> returns;     ///< back to the host driver; Ledger::returnEnded
  std::vector<CallId> specsToWrite;      ///< of their claims: durable, then Ledger::specWritten
  std::vector<ClaimName> specsToUnlink;  ///< durable, then Ledger::specUnlinked
  bool beginReconcile = false;  ///< List, resend, read versions; then Ledger::reconcileEnded
  bool askList = false;         ///< PodResources List alone; then Ledger::listRead

  friend bool operator==(const Effects&, const Effects&) = default;
};

}  // namespace vfiogate
