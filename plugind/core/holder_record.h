#pragma once
// Who holds an IOMMU group, as far as plugind knows.

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/kube_names.h"
#include "ipc/types/unit_id.h"
#include "plugind/core/kubelet_memory.h"
#include "plugind/core/moment.h"

namespace vfiogate {

/// Four hex digits that stand beside a holder in the log and for it in a refusal.
class HolderRef {
public:
  explicit HolderRef(std::uint16_t number) : number_(number) {}
  /// Of what str() says. Null: it is none.
  static std::optional<HolderRef> parse(std::string_view text);
  std::string str() const;
  friend auto operator<=>(const HolderRef&, const HolderRef&) = default;

private:
  std::uint16_t number_;
};

/// A ResourceClaim. The UID alone tells one from another.
struct ClaimName {
  std::string uid;
  std::string claimNamespace;
  std::string name;
  friend auto operator<=>(const ClaimName&, const ClaimName&) = default;
};

/// How a record keeps its group (ledger.md 2, "holding").
enum class HolderState : std::uint8_t {
  kAnswered,   ///< granted, not yet named by the kubelet
  kAllocated,  ///< named
  kForgotten,  ///< a new kubelet process no longer knows it
  kLingering,  ///< let go, still open
};

/// What was read of a record in the kubelet's memory (ledger.md 4).
struct Evidence {
  bool named = false;
  std::uint64_t epochNamed = 0;            ///< the epoch of the last naming
  std::optional<KubeletIdentity> namedBy;  ///< the kubelet of that naming, where it is known
  std::optional<WallTime> namedIn;         ///< the version that named it last
  std::optional<WallTime> absentFirst;  ///< the first version of a reconcile without it, since then
  std::optional<WallTime> absentLast;   ///< the latest
  std::optional<Instant> absentRead;    ///< when the latest was read
  bool listed = false;                  ///< List named it at least once
  bool listedLast = false;              ///< the latest List did
  std::optional<Instant> unlistedSince;  ///< the first List without its pod, while forgotten
  bool podLetGo = false;                 ///< its pod is gone, by Lists (while forgotten)
  std::optional<Instant> claimGoneAt;    ///< first answer that its claim is gone
  bool claimLetGo = false;               ///< second answer

  friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// One allocation (ledger.md 2). It follows addresses, not group numbers, which are reused.
struct HolderRecord {
  ResourceName resource;
  std::set<UnitId> ids;      ///< what the kubelet offered in the latest grant
  std::set<UnitId> rest;     ///< of earlier grants of this record, and not offered in the latest
  std::set<UnitId> members;  ///< every address of the group when it was allocated
  std::chrono::sys_seconds answeredAt;
  HolderRef ref;

  HolderState state = HolderState::kAnswered;
  std::string set{};                   ///< the id of the set that `ids` are of; empty: of none
  std::optional<ClaimName> claim;      ///< present: prepared for a claim, otherwise by the plugin
  std::optional<std::string> podUid;   ///< from the checkpoint
  std::optional<std::string> podName;  ///< "namespace/name", from List
  Instant since;                       ///< of the answer
  WallTime answeredWall;               ///< the same; older checkpoint versions do not speak of it
  Instant stateSince;                  ///< of `state`
  std::optional<Instant> preStartAt;
  bool openedSincePreStart = false;
  std::map<UnitId, std::optional<WallTime>>
      restAbsent;  ///< first version of a reconcile without it
  Evidence evidence;
  std::optional<Instant> releasedAt;        ///< since when the kubelet has let go
  std::optional<Instant> unconfirmedSince;  ///< since when hardware cannot tell, after that
  bool byForeignIds = false;  ///< the kubelet knows it by ids that it is not offered by
  bool unlinking = false;     ///< its spec is being unlinked
  std::string fingerprint;    ///< the hardware as it was allocated
  /// At most one: the party that the kubelet had let go when it was granted these devices again.
  /// Stands again where the kubelet never names this grant.
  std::vector<HolderRecord> before;

  bool isClaim() const { return claim.has_value(); }
  /// Of a re-offer: what it leaves out of what was granted earlier is nobody's until the kubelet
  /// says so (ledger.md 5.7), and stays its own until then.
  void keepRestOf(const HolderRecord& earlier);
  friend bool operator==(const HolderRecord&, const HolderRecord&) = default;
};

/// "2026-01-01T00:00:00Z": how a refusal says since when, too.
std::string utcText(std::chrono::sys_seconds time);

}  // namespace vfiogate
