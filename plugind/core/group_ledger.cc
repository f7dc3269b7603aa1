#include "plugind/core/group_ledger.h"

#include <algorithm>
#include <iterator>

#include "plugind/core/group_members.h"

namespace vfiogate {
namespace {

using std::chrono::sys_seconds;

/// Section 5.7: the kubelet's word that the record's pod is the same, or gone.
bool isReoffer(const HolderRecord& record, const ResourceName& resource, const std::set<Bdf>& ids) {
  return record.resource == resource && meet(record.ids, ids);
}

Refusal refuseBarred(const RefusedDevice& device, const Bar& bar) {
  return refuse(device, bar.text, "not-viable:" + bar.reason);
}

/// Row 18 for a look that was not made. Null: it was.
std::optional<Refusal> refuseUnseen(const RefusedDevice& device, const GroupLook& look) {
  switch (look.answer) {
    case GroupLook::Answer::kSeen:
      return std::nullopt;
    case GroupLook::Answer::kVanished:
      return refuseBarred(device, {"gone", "its group is gone or lost members"});
    case GroupLook::Answer::kFailed:
      return refuse(device, "its state could not be read", "cannot-tell");
    case GroupLook::Answer::kTimedOut:
      return refuse(device, "not known in time whether it is in use", "timed-out");
    case GroupLook::Answer::kPrivdAway:
      return refuse(device, "cannot be checked, privd is away", "privd-away");
  }
  return std::nullopt;
}

/// Rows 14 to 18 by the use of a group. `holder`: null for one that was free. Null: grant it.
std::optional<Refusal> refuseUsed(const RefusedDevice& device, GroupUse use,
                                  const HolderRecord* holder) {
  if (use == GroupUse::kIdle) return std::nullopt;
  // A blind re-offer would need a probe, or the word of PreStartContainer: neither is built yet.
  if (use == GroupUse::kBlind && holder == nullptr) return std::nullopt;
  if (use != GroupUse::kOpen) return refuse(device, "its use cannot be told", "cannot-tell");
  if (holder == nullptr) return refuse(device, "open, by nobody known here", "foreign");
  return refuse(device, "lent since " + clockText(holder->answeredAt) + " and still open",
                "still-open", {holder->ref.str()});
}

/// What was seen of one group, with what only the whole snapshot says.
Snapshot completed(Snapshot seen, const Taking& taking) {
  seen.controlNode = taking.controlNode;
  seen.iommufdNode = taking.iommufdNode;
  return seen;
}

}  // namespace

std::vector<const HolderRecord*> GroupLedger::recordsMeeting(const std::set<Bdf>& members) const {
  std::vector<const HolderRecord*> found;
  for (const HolderRecord& record : records_) {
    if (meet(record.members, members)) found.push_back(&record);
  }
  return found;
}

const GroupTake* GroupLedger::takeMeeting(const std::set<Bdf>& members,
                                          std::optional<TakeTicket> except) const {
  for (const auto& [ticket, taking] : takings_) {
    if (ticket == except) continue;
    for (const auto& [group, take] : taking.groups) {
      if (meet(take.members, members)) return &take;
    }
  }
  return nullptr;
}

GroupHolding GroupLedger::holding(const Snapshot& snapshot, const Bdf& address) const {
  const std::set<Bdf> members = groupMembers(snapshot, address);
  if (takeMeeting(members) != nullptr) return GroupHolding::kTaking;
  return recordsMeeting(members).empty() ? GroupHolding::kFree : GroupHolding::kAnswered;
}

std::optional<Refusal> GroupLedger::judgeOffer(const GroupOffer& offer,
                                               const ResourceName& resource) const {
  if (const GroupTake* take = takeMeeting(offer.members)) {  // row 4
    return refuse(offer.device(), "being lent since " + clockText(take->since), "being-lent",
                  {take->ref.str()});
  }
  const auto holders = recordsMeeting(offer.members);
  const bool again = holders.size() == 1 && isReoffer(*holders.front(), resource, offer.ids);
  if (!holders.empty() && !again) {  // row 10
    std::vector<std::string> refs;
    for (const HolderRecord* holder : holders) refs.push_back(holder->ref.str());
    return refuse(offer.device(), "lent since " + clockText(holders.front()->answeredAt),
                  holders.size() == 1 ? "group-lent" : "disputed", refs);
  }
  if (offer.bar) return refuseBarred(offer.device(), *offer.bar);  // row 11
  return std::nullopt;                                             // rows 7 and 12
}

HolderRef GroupLedger::freshRef(std::uint16_t draw) const {
  std::set<HolderRef> live;
  for (const HolderRecord& record : records_) live.insert(record.ref);
  for (const auto& [ticket, taking] : takings_) {
    for (const auto& [group, take] : taking.groups) live.insert(take.ref);
  }
  while (live.contains(HolderRef(draw))) ++draw;
  return HolderRef(draw);
}

Result<TakeTicket, Refusal> GroupLedger::take(const AllocateRequest& request, const Scene& scene,
                                              const Stamp& stamp) {
  const auto offers = splitByGroup(request, scene);
  if (!offers) return Failure{offers.error()};
  for (const GroupOffer& offer : *offers) {
    if (auto refusal = judgeOffer(offer, request.resource)) return Failure{*std::move(refusal)};
  }
  const TakeTicket ticket(++lastTicket_);
  Taking& taking =
      takings_
          .emplace(ticket, Taking{.resource = request.resource,
                                  .lending = scene.catalog.resources.at(request.resource).lending,
                                  .controlNode = scene.snapshot.controlNode,
                                  .iommufdNode = scene.snapshot.iommufdNode,
                                  .groups = {}})
          .first->second;
  for (const GroupOffer& offer : *offers) {
    // A device without a group is barred above.
    taking.groups.emplace(*offer.group, GroupTake{.ids = offer.ids,
                                                  .members = offer.members,
                                                  .since = stamp.now,
                                                  .ref = freshRef(stamp.draw)});
  }
  return ticket;
}

std::optional<Refusal> GroupLedger::judgeLook(TakeTicket ticket, IommuGroupId group,
                                              const GroupLook& look) const {
  const Taking& taking = takings_.at(ticket);
  const GroupTake& take = taking.groups.at(group);
  const RefusedDevice device{*take.ids.begin(), group};
  if (auto refusal = refuseUnseen(device, look)) return refusal;
  const auto seen = look.seen.groups.find(group);
  std::set<Bdf> members = take.members;
  if (seen != look.seen.groups.end()) {
    members.insert(seen->second.members.begin(), seen->second.members.end());
  }
  // Row 34: whoever joined the group meanwhile may bring a holder with it.
  const auto holders = recordsMeeting(members);
  const bool again = holders.size() == 1 && isReoffer(*holders.front(), taking.resource, take.ids);
  const bool whole =
      seen != look.seen.groups.end() && std::ranges::includes(seen->second.members, take.ids);
  if (!whole || (!holders.empty() && !again) || takeMeeting(members, ticket) != nullptr) {
    return refuseBarred(device, {"regrouped", "its group changed while it was being lent"});
  }
  const HolderRecord* holder = again ? holders.front() : nullptr;
  if (auto refusal = refuseUsed(device, seen->second.use, holder)) return refusal;
  const auto nodes = deviceNodes(completed(look.seen, taking), take.ids, taking.lending.backend);
  return nodes ? std::nullopt : std::optional(refuseBarred(device, nodes.error()));
}

HolderRecord GroupLedger::keep(HolderRecord fresh) {
  // Not by members: a function that moved meanwhile may be among those of another group of the
  // call.
  const auto replaced = std::ranges::find_if(records_, [&fresh](const HolderRecord& record) {
    return isReoffer(record, fresh.resource, fresh.ids);
  });
  if (replaced == records_.end()) return records_.emplace_back(std::move(fresh));
  // What a re-offer leaves out of the earlier offers is nobody's until the kubelet says so.
  for (const auto* earlier : {&replaced->ids, &replaced->rest}) {
    std::ranges::set_difference(*earlier, fresh.ids, std::inserter(fresh.rest, fresh.rest.end()));
  }
  fresh.members.insert(fresh.rest.begin(), fresh.rest.end());
  return *replaced = std::move(fresh);
}

Result<Grant, Refusal> GroupLedger::settle(TakeTicket ticket, const GroupLooks& looks,
                                           sys_seconds now) {
  const Taking taking = takings_.at(ticket);
  Snapshot seen;
  std::set<Bdf> ids;
  std::optional<Refusal> refusal;
  for (const auto& [group, take] : taking.groups) {
    const auto look = looks.find(group);
    refusal = judgeLook(ticket, group, look == looks.end() ? GroupLook{} : look->second);
    if (refusal) break;
    seen.devices.insert(look->second.seen.devices.begin(), look->second.seen.devices.end());
    seen.groups.insert(look->second.seen.groups.begin(), look->second.seen.groups.end());
    ids.insert(take.ids.begin(), take.ids.end());
  }
  takings_.erase(ticket);
  if (refusal) return Failure{*std::move(refusal)};
  auto response =
      allocationResponse(completed(std::move(seen), taking), taking.resource, ids, taking.lending);
  const RefusedDevice first{*ids.begin(), taking.groups.begin()->first};
  if (!response) return Failure{refuseBarred(first, response.error())};
  Grant grant{.response = *std::move(response), .records = {}, .again = false};
  for (const auto& [group, take] : taking.groups) {
    HolderRecord fresh{.resource = taking.resource,
                       .ids = take.ids,
                       .rest = {},
                       .members = take.members,
                       .answeredAt = now,
                       .ref = take.ref};
    const std::vector<Bdf>& members = looks.at(group).seen.groups.at(group).members;
    fresh.members.insert(members.begin(), members.end());
    const std::size_t before = records_.size();
    grant.records.push_back(keep(std::move(fresh)));
    grant.again = grant.again || records_.size() == before;
  }
  return grant;
}

void GroupLedger::cancel(TakeTicket ticket) {
  takings_.erase(ticket);
}

}  // namespace vfiogate
