#pragma once
// The one authority on lending: who holds which IOMMU group while this process lives.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ipc/types/result.h"
#include "ipc/types/strong_id.h"
#include "plugind/core/allocation_response.h"
#include "plugind/core/frame.h"
#include "plugind/core/group_look.h"
#include "plugind/core/holder_record.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource_catalog.h"

namespace vfiogate {

/// What the hardware and the configuration say at one moment.
struct Scene {
  const Snapshot& snapshot;
  const ResourceCatalog& catalog;  ///< made from `snapshot`
};

/// The kubelet's request for one container.
struct AllocateRequest {
  ResourceName resource;
  std::vector<std::string> ids;  ///< as the kubelet sent them
  Frame shown;                   ///< the last frame sent on the resource's live stream
};

/// Time of day and randomness, which the ledger does not have itself.
struct Stamp {
  std::chrono::sys_seconds now;
  std::uint16_t draw = 0;  ///< where the search for a free reference starts
};

/// Names one request that is being decided.
using TakeTicket = StrongId<struct TakeTicketTag, std::uint64_t>;

enum class Holding : std::uint8_t {
  kFree,
  kTaking,    ///< a request is being decided
  kAnswered,  ///< granted
};

/// One group within a request that is being decided. What it holds now stays in the records.
struct GroupTake {
  IommuGroupId group;
  std::set<Bdf> ids;
  std::set<Bdf> members;  ///< of the group when it was taken
  HolderRef ref;
};

/// A request that is being decided.
struct Taking {
  ResourceName resource;
  LendingSettings lending;
  std::chrono::sys_seconds since;
  std::vector<GroupTake> groups;  ///< ascending by group
};

/// A request that was granted.
struct Grant {
  AllocationResponse response;
  std::vector<HolderRecord> records;  ///< one per group, for the log
  bool again = false;                 ///< `lent-again`: one of them was a re-offer
};

/// Lends IOMMU groups, by the rows of ledger.md 7 that this version has. Records are never ended:
/// releasing needs the kubelet's memory. A value; one owner; no row waits for anything.
class GroupLedger {
public:
  /// Judges a request against all its groups in one step (rows 3, 4, 7, 10, 11, 12): takes all of
  /// them or none. privd is to be asked about each group of `taking(ticket)` then.
  Result<TakeTicket, Refusal> take(const AllocateRequest& request, const Scene& scene,
                                   const Stamp& stamp);

  /// Ends a taking by what privd saw (rows 14 to 18): everything is granted, or every group
  /// returns to what it was. A group without a look counts as timed out. `ticket` must be open.
  Result<Grant, Refusal> settle(TakeTicket ticket, const GroupLooks& looks, const Stamp& stamp);

  /// Row 18 for a caller that is gone: every group returns to what it was. `ticket` may be over.
  void cancel(TakeTicket ticket);

  /// The request behind an open ticket.
  const Taking& taking(TakeTicket ticket) const { return takings_.at(ticket); }
  const std::map<TakeTicket, Taking>& takings() const { return takings_; }
  const std::vector<HolderRecord>& records() const { return records_; }

  /// The state of the group that has the address: its members now and then count, not its number.
  Holding holding(const Snapshot& snapshot, const Bdf& address) const;

private:
  std::vector<HolderRecord> records_;
  std::map<TakeTicket, Taking> takings_;
  std::uint64_t lastTicket_ = 0;
};

}  // namespace vfiogate
