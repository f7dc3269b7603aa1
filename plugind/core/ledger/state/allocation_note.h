#pragma once
// What the record of allocations says of one group: a line an allocation, for the plugind after
// this one and for people.
//
//   resource=vfiogate.dev/gpu ids=0000:01:00.0 set=set:p1 ref=7f3a since=2026-11-23T10:42:07Z
//   named-by=12:1763841500000000000 pod=default/vm uid=6f0c... (on one line; what is not known is
//   left out)
//   resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=2026-11-23T10:42:07Z
//   claim=default/train
//   hw=10de:2684,sub=10de:167c,class=030000,rev=a1,sn=MT1/mdev,type=nvidia-711,parent=0000:11:00.0
//
//   foreign=vfiogate.dev/gpu ids=0000:01:00.0 (no allocation: foreign_ids.h)
//
// `hw`, of claims alone: devices in the order of `ids`, apart by '/', the words of a fingerprint
// apart by ','; in them "%25", "%2C" and "%2F" stand for '%', ',' and '/'. A device that is not
// known is empty.

#include <chrono>
#include <map>
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
  /// Of a claim: what tells its devices from others, in the words of a fingerprint and without
  /// group, node and boot: "0000:01:00.0 10de:2684 class=030000;". Empty: not known.
  std::string hardware{};

  friend bool operator==(const NotedAllocation&, const NotedAllocation&) = default;
};

/// The line, without its end. Names that are no Kubernetes names are left out.
std::string lineOf(const NotedAllocation& allocation);
/// The line of a group that is being allocated.
std::string lineOf(const Call& call, const Take& take);
/// Lines that make no sense are left out.
std::vector<NotedAllocation> allocationsIn(std::string_view note);

/// "namespace/name", as a line has it.
std::string nameOf(const ClaimName& claim);

/// Bytes of one `hw`. A note has twice as much, so that a line has room for its other fields.
inline constexpr std::size_t kLongestNotedHardware = 4096;

/// What `fingerprint` says of these devices, without group, node and boot, as `hw`. Each has the
/// same share of the bytes; of words that do not fit the last ones are left out, the serial number
/// first. Empty: nothing is known.
std::string notedHardware(const std::string& fingerprint, const std::set<UnitId>& ids);
/// The fingerprint that it is of, as far as it was noted. Null: it makes no sense.
std::optional<std::string> fingerprintFrom(std::string_view noted, const std::set<UnitId>& ids);

/// What a note says of resources with foreign ids: the devices that are suspected for each.
std::map<ResourceName, std::set<UnitId>> suspicionsIn(std::string_view note);

/// The note of each group that is allocated or being allocated, or suspected without being in the
/// resource with the foreign id any more: who begins with the configuration would not know it.
GroupNotes notesOf(const LedgerState& state);

}  // namespace vfiogate
