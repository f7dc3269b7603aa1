#pragma once
// What plugind knows and shows at one moment: what `plugind status` prints and metrics count.
// For operators: it names holders, which a refusal never does.
// Whether plugind can serve a pod now: what `plugind probe` and netd's /readyz tell.

#include "ipc/base/build_info.h"
#include "ipc/types/viability.h"
#include "plugind/core/dra/dra_registration.h"
#include "plugind/core/ledger/ledger_view.h"
#include "plugind/core/status/registration.h"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {

/// How a resource stands with the kubelet. Source: its registrar and its streams.
struct ResourceFacts {
  RegistrationState state = RegistrationState::kUnwanted;
  std::map<RegistrationTurn, std::uint64_t> turns;  ///< how often each was taken
  std::string trouble;  ///< why it is not, for people; empty: nothing went wrong yet
  std::size_t streams = 0;
  std::uint64_t framesSent = 0;      ///< to live streams, since the start
  std::optional<Instant> lastFrame;  ///< when the last one was sent; absent: none yet
  friend bool operator==(const ResourceFacts&, const ResourceFacts&) = default;
};

struct DeviceStatus {
  UnitId address;
  std::string model;   ///< "10de:2684"
  std::string driver;  ///< empty: none
  std::optional<std::uint32_t> numaNode;
  bool shown = false;    ///< in its resource's frame
  bool healthy = false;  ///< there
  std::string hardware;  ///< "ready", "bindable", or the code of what keeps it from being allocated
  std::string hardwareText;  ///< for people, with what would lift it; empty if ready
  std::string reason;        ///< "offered", or why not: offer_reason.h
  std::string reasonText;    ///< for people; empty if offered
  std::optional<LastRefusal> lastRefusal;
  GroupView group;  ///< the state of its IOMMU group, and who holds it

  friend bool operator==(const DeviceStatus&, const DeviceStatus&) = default;
};

/// What the kubelet counts of a companion that goes along with its card (companions.h).
struct TicketStatus {
  UnitId companion;
  std::string model;  ///< "10de:22ba"
  UnitId card;
  bool healthy = false;  ///< in its resource's frame

  friend bool operator==(const TicketStatus&, const TicketStatus&) = default;
};

/// A fixed set of devices that are allocated together (device_sets.h).
struct SetStatus {
  std::string name;
  std::set<UnitId> units;
  bool shown = false;      ///< in its resource's frame
  bool healthy = false;    ///< there
  std::string reason;      ///< "offered", or the code of the first unit that keeps it
  std::string reasonText;  ///< for people, with that unit; empty if offered

  friend bool operator==(const SetStatus&, const SetStatus&) = default;
};

/// What the kubelet counts of the further devices of another resource's (more_tickets.h).
struct MoreStatus {
  ResourceName of;
  std::size_t tickets = 0;
  std::size_t healthy = 0;  ///< of them, in its frame

  friend bool operator==(const MoreStatus&, const MoreStatus&) = default;
};

struct ResourceStatus {
  ResourceName name;
  AllocationSettings allocation;
  ResourceFacts facts;
  std::vector<DeviceStatus> devices;    ///< ascending
  std::vector<TicketStatus> tickets{};  ///< ascending by companion
  std::vector<SetStatus> sets{};        ///< ascending by name
  std::optional<MoreStatus> moreOf{};   ///< absent: no other resource's `more`

  friend bool operator==(const ResourceStatus&, const ResourceStatus&) = default;
};

struct PluginStatus {
  BuildInfo build;
  bool privdThere = false;
  std::optional<Instant> privdAwaySince;
  std::vector<std::string> privdMissing;  ///< of its processes those that should be connected
  bool allocationOpen = false;  ///< an Allocate is judged by its devices, not refused for all
  bool begun = false;           ///< step 1 of adoption: resources may be registered
  bool adopted = false;         ///< step 2: all holders are known again
  std::vector<ResourceStatus> resources;
  std::vector<GroupView> gone;  ///< allocated, and the hardware is gone
  std::map<UnitId, LeftOut> leftOut;
  std::vector<NodeObstacle> obstacles;             ///< of the whole node
  std::optional<DriverStatus> dra = std::nullopt;  ///< absent: no driver is configured

  friend bool operator==(const PluginStatus&, const PluginStatus&) = default;
};

PluginStatus statusOf(const LedgerState& state, const std::map<ResourceName, ResourceFacts>& facts);

struct PluginReadiness {
  bool ready = false;
  std::string why;  ///< for people, one line, never empty; names no pod and no holder

  friend bool operator==(const PluginReadiness&, const PluginReadiness&) = default;
};

/// Ready: privd is there, all holders are known again, every resource that has devices is
/// registered and streams unless it is for claims only, the DRA driver is registered and a netd dra
/// is connected where one is for claims, and no obstacle of the node keeps all of these devices
/// from being allocated. A configuration without any device is ready, and says so; so do obstacles
/// that leave something to allocate.
PluginReadiness readinessOf(const PluginStatus& status);

}  // namespace vfiogate
