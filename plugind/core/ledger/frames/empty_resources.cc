#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>

namespace vfiogate {
namespace {

/// In the time of which its last registration is taken.
constexpr std::chrono::milliseconds kLastRegistration{10'000};

bool isMoved(const LedgerState& state, const ResourceName& resource) {
  return state.catalog.resources.contains(resource) && !servedByPlugin(state.catalog, resource);
}

bool isAsked(const LedgerState& state, const ResourceName& resource) {
  return std::ranges::any_of(state.calls, [&resource](const auto& entry) {
    return entry.second.kind == CallKind::kAllocate && entry.second.allocate.resource == resource;
  });
}

/// 0: never.
std::chrono::milliseconds staysEmpty(const LedgerState& state, const ResourceName& resource) {
  return isMoved(state, resource) ? kLastRegistration : state.settings.emptyResourceAfter;
}

bool isEmpty(const LedgerState& state, const ResourceName& resource, const ShownResource& shown) {
  return shown.devices.empty() && shown.left.empty() && !isAsked(state, resource) &&
         !servedByPlugin(state.catalog, resource) && !hasTickets(state.catalog, resource);
}

}  // namespace

void endEmpty(Turn& turn) {
  LedgerState& state = turn.state;
  const std::set<ResourceName> listening = shownToListen(state);
  for (auto entry = state.shown.begin(); entry != state.shown.end();) {
    auto& [resource, shown] = *entry;
    if (!isEmpty(state, resource, shown) || listening.contains(resource)) {
      shown.emptySince.reset();
    } else if (!shown.emptySince) {
      shown.emptySince = turn.now.instant;
    }
    const auto after = staysEmpty(state, resource);
    const bool over =
        shown.emptySince && after.count() > 0 && turn.now.instant - *shown.emptySince >= after;
    if (!over) {
      ++entry;
      continue;
    }
    turn.out.frames.erase(resource);
    turn.out.ended.insert(resource);
    entry = state.shown.erase(entry);
  }
}

std::optional<Instant> emptyDue(const LedgerState& state) {
  std::optional<Instant> due;
  for (const auto& [resource, shown] : state.shown) {
    const auto after = staysEmpty(state, resource);
    if (!shown.emptySince || after.count() == 0) continue;
    const Instant when = *shown.emptySince + after;
    if (!due || when < *due) due = when;
  }
  return due;
}

void showMoved(LedgerState& state, const ResourceName& resource) {
  if (isMoved(state, resource)) state.shown[resource];
}

std::set<ResourceName> shownToListen(const LedgerState& state) {
  const auto& resources = state.catalog.resources;
  const bool served = std::ranges::any_of(
      resources, [](const auto& entry) { return servesPlugin(entry.second.allocation); });
  if (served || resources.empty()) return {};
  std::set<ResourceName> names;
  const auto listenFor = [&](const ResourceName& name) {
    names.insert(resources.contains(name) ? name : resources.begin()->first);
  };
  for (const auto& [resource, devices] : state.suspected) listenFor(resource);
  for (const HolderRecord& record : state.records) {
    if (!record.isClaim()) listenFor(record.resource);
  }
  return names;
}

bool wantsPreStart(const LedgerState& state, const ResourceName& resource) {
  if (!isMoved(state, resource) || isAsked(state, resource)) return true;
  return std::ranges::any_of(state.records, [&resource](const HolderRecord& record) {
    return !record.isClaim() && record.resource == resource;
  });
}

}  // namespace vfiogate
