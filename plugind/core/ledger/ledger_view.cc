#include "plugind/core/ledger/ledger_view.h"

#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

HolderView holderView(const HolderRecord& record) {
  return {.state = record.state,
          .claim = record.claim,
          .resource = record.resource,
          .ids = record.ids,
          .rest = record.rest,
          .set = setNameIn(record.set).value_or(""),
          .since = record.answeredAt,
          .ref = record.ref,
          .podName = record.podName,
          .podUid = record.podUid};
}

}  // namespace

std::string_view nameOf(Holding holding) {
  switch (holding) {
    case Holding::kFree:
      return "free";
    case Holding::kTaking:
      return "taking";
    case Holding::kAnswered:
      return "answered";
    case Holding::kAllocated:
      return "allocated";
    case Holding::kForgotten:
      return "forgotten";
    case Holding::kLingering:
      return "lingering";
    case Holding::kForeign:
      return "foreign";
    case Holding::kReturning:
      return "returning";
  }
  return "unknown";
}

std::string_view refusalOf(Holding holding) {
  switch (holding) {
    case Holding::kFree:
      return {};
    case Holding::kTaking:
      return "being-allocated";
    case Holding::kAnswered:
    case Holding::kAllocated:
    case Holding::kForgotten:
      return "group-allocated";
    case Holding::kLingering:
      return "still-open";
    case Holding::kForeign:
      return "foreign";
    case Holding::kReturning:
      return "returning";
  }
  return {};
}

GroupView viewOf(const LedgerState& state, const std::set<UnitId>& members,
                 const std::vector<std::size_t>& records) {
  GroupView view{.group = groupNumber(state, members),
                 .members = members,
                 .holding = holdingOf(state, members, records),
                 .use = useOf(state, members).use,
                 .holders = {}};
  for (const std::size_t index : records) {
    view.holders.push_back(holderView(state.records[index]));
  }
  view.disputed = !ofOneParty(state, records);
  if (view.holding == Holding::kForeign || view.holding == Holding::kReturning) {
    view.since = markMeeting(state, members, view.holding)->sinceWall;
  }
  return view;
}

}  // namespace vfiogate
