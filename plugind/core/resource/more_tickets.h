#pragma once
// Tickets: ids in a frame that are no device. Whoever is allocated one gets nothing by it, and
// holds nothing. Some stand for companions (companions.h), and some for the further devices of what
// one id of a resource stands for, a set or a whole group: KubeVirt has one entry in its machine
// for each device, and asks for one id for each entry.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ipc/base/kube_names.h"

namespace vfiogate {

/// One of the further devices of an id; which of them is nobody's business.
struct MoreTicket {
  ResourceName resource;   ///< the one that has the id, not the one that counts the tickets
  std::string id;          ///< a unit's or a set's
  std::size_t number = 1;  ///< from 1

  friend bool operator==(const MoreTicket&, const MoreTicket&) = default;
};

/// "more:vfiogate.dev/pair/set:left/1". The resource is in it, so that no two resources count one
/// id while a device moves from one to the other (T37).
std::string moreTicketId(const MoreTicket& ticket);
/// Null: the id is none of these.
std::optional<MoreTicket> moreTicketIn(const std::string& id);

/// It is a ticket, of either kind.
bool isTicket(const std::string& id);
/// At least one id, and all of them tickets.
bool areTickets(const std::vector<std::string>& ids);

}  // namespace vfiogate
