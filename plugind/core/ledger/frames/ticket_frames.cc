#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>

namespace vfiogate {

std::set<std::string> ticketsHeld(const LedgerState& state, const ResourceName& resource) {
  std::set<std::string> held;
  const auto& latest = state.version ? state.version : state.inherited;
  if (!latest) return held;
  for (const RecordedDevices& entry : latest->entries) {
    if (entry.resource != resource.str()) continue;
    for (const std::string& id : entry.ids) {
      if (ticketIn(id)) held.insert(id);
    }
  }
  return held;
}

bool isTicketHealthy(const LedgerState& state, const ResourceName& resource,
                     const std::string& id) {
  const auto found = state.catalog.tickets.find(*ticketIn(id));
  if (found == state.catalog.tickets.end() || found->second.resource != resource) return false;
  const std::string card = found->second.card.str();
  const bool offered = std::ranges::any_of(state.shown, [&card](const auto& entry) {
    const auto device = entry.second.devices.find(card);
    return device != entry.second.devices.end() && device->second.device.healthy;
  });
  return offered || ticketsHeld(state, resource).contains(id);
}

}  // namespace vfiogate
