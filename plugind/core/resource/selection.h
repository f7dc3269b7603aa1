#pragma once
// What the configuration's selectors say of a device, by all that is known of it.

#include <optional>
#include <string>
#include <string_view>

#include "ipc/types/selector.h"
#include "ipc/types/snapshot.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// Two reasons of it: an entry of `exclude` matches, or a serial number decides that is not known.
inline constexpr const char* kExcluded = "excluded";
inline constexpr const char* kSerialUnknown = "serial-unknown";

/// Why a device belongs to no resource.
struct LeftOut {
  std::string reason;  ///< stable code: bridge, unreadable, excluded, unmatched, companion, ...
  std::string text;    ///< for people, with what would change it
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

/// What others than sysfs say of a function.
struct Learnt {
  std::string_view product{};                ///< by pci.ids; empty: not known
  std::optional<std::string_view> serial{};  ///< empty: it tells none; null: not known
  std::string_view whyNoSerial{};            ///< for people, where it is not known
};

/// Null: it has none, or none that is a PCI function.
const PciDevice* parentOf(const Snapshot& snapshot, const MediatedDevice& device);

/// `learnt` is of the function, or of the mediated device's parent. A serial number that is not
/// known matches no value.
bool matches(const Selector& selector, const PciDevice& device, const Learnt& learnt);
bool matches(const Selector& selector, const Snapshot& snapshot, const MediatedDevice& device,
             const Learnt& learnt);

/// A mediated device is excluded by its own type, or with the whole parent.
std::optional<LeftOut> excluded(const Settings& settings, const PciDevice& device,
                                const Learnt& learnt);
std::optional<LeftOut> excluded(const Settings& settings, const Snapshot& snapshot,
                                const MediatedDevice& device, const Learnt& learnt);

/// What only a serial number could say, which is not known.
struct Undecided {
  bool mayBeExcluded;  ///< else: which entry of resources is the first that takes it
  LeftOut why;
};

/// Of a unit that is not excluded. Its own serial number is meant, or its parent's. Sets are not
/// looked at.
std::optional<Undecided> undecided(const Settings& settings, const PciDevice& device,
                                   const Learnt& learnt);
std::optional<Undecided> undecided(const Settings& settings, const Snapshot& snapshot,
                                   const MediatedDevice& device, const Learnt& learnt);

}  // namespace vfiogate
