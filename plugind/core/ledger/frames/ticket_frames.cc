#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "plugind/core/resource/more_tickets.h"

namespace vfiogate {
namespace {

bool isShownHealthy(const ShownResource& shown, const std::string& id) {
  const auto device = shown.devices.find(id);
  return device != shown.devices.end() && device->second.device.healthy;
}

/// Its card is Healthy, in whichever resource it is.
bool isCardHealthy(const LedgerState& state, const UnitId& card) {
  return std::ranges::any_of(state.shown, [id = card.str()](const auto& entry) {
    return isShownHealthy(entry.second, id);
  });
}

/// The resource counts it still, and the id with which it goes is Healthy.
bool isMainHealthy(const LedgerState& state, const ResourceName& resource,
                   const MoreTicket& ticket) {
  const auto configured = state.catalog.resources.find(ticket.resource);
  if (configured == state.catalog.resources.end()) return false;
  const auto& more = configured->second.allocation.more;
  if (!more || more->name != resource || ticket.number > more->count) return false;
  const auto shown = state.shown.find(ticket.resource);
  return shown != state.shown.end() && isShownHealthy(shown->second, ticket.id);
}

/// Of the latest version of the kubelet's memory.
std::span<const RecordedDevices> latestEntries(const LedgerState& state) {
  const auto& latest = state.version ? state.version : state.inherited;
  return latest ? std::span<const RecordedDevices>(latest->entries)
                : std::span<const RecordedDevices>();
}

bool isTicketHeld(const LedgerState& state, const ResourceName& resource, const std::string& id) {
  return std::ranges::any_of(latestEntries(state), [&](const RecordedDevices& entry) {
    return entry.resource == resource.str() && std::ranges::find(entry.ids, id) != entry.ids.end();
  });
}

}  // namespace

std::set<std::string> ticketsHeld(const LedgerState& state, const ResourceName& resource) {
  std::set<std::string> held;
  for (const RecordedDevices& entry : latestEntries(state)) {
    if (entry.resource != resource.str()) continue;
    std::ranges::copy_if(entry.ids, std::inserter(held, held.end()), isTicket);
  }
  return held;
}

std::set<std::string> ticketsWanted(const LedgerState& state, const ResourceName& resource) {
  std::set<std::string> wanted;
  for (const auto& [companion, ticket] : state.catalog.tickets) {
    if (ticket.resource == resource) wanted.insert(ticketId(companion));
  }
  const ResourceName* main = resourceWithMore(state.catalog, resource);
  if (main == nullptr) return wanted;
  const auto shown = state.shown.find(*main);
  if (shown == state.shown.end()) return wanted;
  const std::size_t count = state.catalog.resources.at(*main).allocation.more->count;
  for (const auto& [id, device] : shown->second.devices) {
    if (device.lostAt) continue;  // its tickets leave when it does, and are back when it is
    for (std::size_t number = 1; number <= count; ++number) {
      wanted.insert(moreTicketId({*main, id, number}));
    }
  }
  return wanted;
}

bool isTicketHealthy(const LedgerState& state, const ResourceName& resource,
                     const std::string& id) {
  bool offered = false;
  if (const auto more = moreTicketIn(id)) {
    offered = isMainHealthy(state, resource, *more);
  } else {
    const auto found = state.catalog.tickets.find(*ticketIn(id));
    if (found == state.catalog.tickets.end() || found->second.resource != resource) return false;
    offered = isCardHealthy(state, found->second.card);
  }
  return offered || isTicketHeld(state, resource, id);
}

}  // namespace vfiogate
