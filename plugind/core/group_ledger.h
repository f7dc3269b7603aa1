#pragma once
// The one authority on lending: who holds which IOMMU group while this process lives.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ipc/types/result.h"
#include "ipc/types/strong_id.h"
#include "plugind/core/allocate_offer.h"
#include "plugind/core/allocation_response.h"
#include "plugind/core/group_look.h"
#include "plugind/core/holder_record.h"

namespace vfiogate {

/// Time of day and randomness, which the ledger does not have itself.
struct Stamp {
  std::chrono::sys_seconds now;
  std::uint16_t draw = 0;  ///< where the search for a free reference starts
};

/// Names one request that is being decided.
using TakeTicket = StrongId<struct TakeTicketTag, std::uint64_t>;

enum class GroupHolding : std::uint8_t {
  kFree,
  kTaking,    ///< a request is being decided
  kAnswered,  ///< granted
};

/// One group within a request that is being decided. What it held before stays in the records.
struct GroupTake {
  std::set<Bdf> ids;
  std::set<Bdf> members;  ///< of the group when it was taken
  std::chrono::sys_seconds since;
  HolderRef ref;

  friend bool operator==(const GroupTake&, const GroupTake&) = default;
};

/// A request that is being decided.
struct Taking {
  ResourceName resource;
  LendingSettings lending;
  bool controlNode = false;  ///< of the snapshot: a look at a group says nothing of these
  bool iommufdNode = false;
  std::map<IommuGroupId, GroupTake> groups;

  friend bool operator==(const Taking&, const Taking&) = default;
};

/// A request that was granted.
struct Grant {
  AllocationResponse response;
  std::vector<HolderRecord> records;  ///< one per group, for the log
  bool again = false;                 ///< `lent-again`: at least one was a re-offer
};

/// Lends IOMMU groups, by the rows of ledger.md 7 that this version has. Records are never ended:
/// releasing needs the kubelet's memory. A value with one owner; nothing is waited for in here.
class GroupLedger {
public:
  /// Judges a request against all its groups in one step (rows 3, 4, 7, 10, 11, 12): takes all of
  /// them or none. Then privd is to be asked about each group of `takings().at(ticket)`.
  Result<TakeTicket, Refusal> take(const AllocateRequest& request, const Scene& scene,
                                   const Stamp& stamp);

  /// Ends a taking by what privd saw (rows 14 to 18): everything is granted, or every group
  /// returns to what it was. A group without a look counts as timed out. `ticket` must be open.
  Result<Grant, Refusal> settle(TakeTicket ticket, const GroupLooks& looks,
                                std::chrono::sys_seconds now);

  /// Row 18 for a caller that is gone: every group returns to what it was. `ticket` may be over.
  void cancel(TakeTicket ticket);

  const std::map<TakeTicket, Taking>& takings() const { return takings_; }
  const std::vector<HolderRecord>& records() const { return records_; }

  /// The state of the group that has `address` in `snapshot`: its members count, not its number.
  GroupHolding holding(const Snapshot& snapshot, const Bdf& address) const;

private:
  std::vector<const HolderRecord*> recordsMeeting(const std::set<Bdf>& members) const;
  const GroupTake* takeMeeting(const std::set<Bdf>& members,
                               std::optional<TakeTicket> except = std::nullopt) const;
  std::optional<Refusal> judgeOffer(const GroupOffer& offer, const ResourceName& resource) const;
  std::optional<Refusal> judgeLook(TakeTicket ticket, IommuGroupId group,
                                   const GroupLook& look) const;
  HolderRef freshRef(std::uint16_t draw) const;
  HolderRecord keep(HolderRecord fresh);

  std::vector<HolderRecord> records_;
  std::map<TakeTicket, Taking> takings_;
  std::uint64_t lastTicket_ = 0;
};

}  // namespace vfiogate
