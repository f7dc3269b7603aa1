#include "plugind/core/resource/more_tickets.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ipc/types/unit_id.h"
#include "plugind/core/device_sets.h"
#include "plugind/core/resource/companions.h"

namespace vfiogate {
namespace {

constexpr std::string_view kMoreTicket = "more:";

std::size_t numberIn(const std::string& text) {
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? number : 0;
}

}  // namespace

std::string moreTicketId(const MoreTicket& ticket) {
  return std::string(kMoreTicket) + ticket.resource.str() + "/" + ticket.id + "/" +
         std::to_string(ticket.number);
}

std::optional<MoreTicket> moreTicketIn(const std::string& id) {
  if (!id.starts_with(kMoreTicket)) return std::nullopt;
  const std::size_t last = id.rfind('/');
  if (last == std::string::npos || last == 0) return std::nullopt;
  const std::size_t middle = id.rfind('/', last - 1);
  if (middle == std::string::npos || middle < kMoreTicket.size()) return std::nullopt;
  const auto resource =
      ResourceName::parse(id.substr(kMoreTicket.size(), middle - kMoreTicket.size()));
  const std::string unit = id.substr(middle + 1, last - middle - 1);
  const bool known = isSetId(unit) || UnitId::parse(unit);
  if (!resource || !known) return std::nullopt;
  MoreTicket ticket{*resource, unit, numberIn(id.substr(last + 1))};
  // Written as we write it, and no other way: nothing else is nobody's device.
  if (ticket.number == 0 || moreTicketId(ticket) != id) return std::nullopt;
  return ticket;
}

bool isTicket(const std::string& id) {
  return ticketIn(id).has_value() || moreTicketIn(id).has_value();
}

bool areTickets(const std::vector<std::string>& ids) {
  return !ids.empty() && std::ranges::all_of(ids, isTicket);
}

}  // namespace vfiogate
