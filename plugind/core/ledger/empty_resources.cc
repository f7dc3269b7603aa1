#include "plugind/core/ledger/empty_resources.h"

#include <algorithm>

namespace vfiogate {
namespace {

using namespace std::chrono_literals;

bool isEmpty(const LedgerState& state, const ResourceName& resource, const ShownResource& shown) {
  const bool asked = std::ranges::any_of(state.calls, [&resource](const auto& entry) {
    return entry.second.kind == CallKind::kAllocate && entry.second.allocate.resource == resource;
  });
  return shown.devices.empty() && shown.left.empty() && !asked &&
         !servedByPlugin(state.catalog, resource);
}

}  // namespace

void endEmpty(Turn& turn) {
  LedgerState& state = turn.state;
  const auto after = state.settings.emptyResourceAfter;
  for (auto entry = state.shown.begin(); entry != state.shown.end();) {
    auto& [resource, shown] = *entry;
    if (!isEmpty(state, resource, shown)) {
      shown.emptySince.reset();
    } else if (!shown.emptySince) {
      shown.emptySince = turn.now.instant;
    }
    // A scheduler that finds the name among a node's capacities asks no DRA driver for it.
    const bool moved = state.catalog.resources.contains(resource);
    const bool over = shown.emptySince && (moved || after.count() > 0) &&
                      turn.now.instant - *shown.emptySince >= (moved ? 0ms : after);
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
  if (state.settings.emptyResourceAfter.count() == 0) return due;
  for (const auto& [resource, shown] : state.shown) {
    if (!shown.emptySince) continue;
    const Instant when = *shown.emptySince + state.settings.emptyResourceAfter;
    if (!due || when < *due) due = when;
  }
  return due;
}

}  // namespace vfiogate
