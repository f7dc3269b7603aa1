#pragma once
// The audio, USB-C and serial functions of graphics cards: with which card each travels, and what
// the kubelet counts of them where a card's answer names them too.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/base/kube_names.h"
#include "ipc/types/snapshot.h"

namespace vfiogate {

/// A companion that is allocated with its card (`companions: attach`). In the frame of `resource`
/// stands an id for it that is no device: whoever is allocated that gets nothing by it.
struct Ticket {
  ResourceName resource;
  UnitId card;  ///< whose answer names the companion

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

using Tickets = std::map<UnitId, Ticket>;  ///< by companion

/// "companion:0000:01:00.1".
std::string ticketId(const UnitId& companion);
/// Its companion. Null: the id is not that of a companion's ticket.
std::optional<UnitId> ticketIn(const std::string& id);

/// By its class it may be a companion.
bool isCompanionKind(const PciDevice& device);

/// The display controllers of a snapshot.
class Cards {
public:
  explicit Cards(const Snapshot& snapshot);

  /// The one in the device's group with which it travels: of its own slot, or else the first. Null:
  /// it is no companion.
  std::optional<UnitId> of(const PciDevice& companion) const;

private:
  std::map<IommuGroupId, std::vector<UnitId>> cards_;  ///< ascending
};

}  // namespace vfiogate
