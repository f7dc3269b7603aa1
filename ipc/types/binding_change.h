#pragma once
// A change of drivers, from the order to the report: the words of whoever asks and of privd.
// Names of drivers, as an operator may give them.

#include "ipc/types/bdf.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

constexpr std::size_t kLongestDriver = 64;

/// True for "vfio-pci", "mlx5_vfio_pci": letters, digits, '-', '_' and '.', at most 64, the first
/// no dot. It is one part of a path, and one line, wherever it is written.
constexpr bool isDriverName(std::string_view name) {
  const auto mayBe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kLongestDriver && name.front() != '.' &&
         std::ranges::all_of(name, mayBe);
}

/// What speaks against a change. The names are what `--override` takes.
enum class Guard : std::uint8_t {
  kBridge,     ///< header type 1 or 2
  kBootVga,    ///< the firmware's display
  kConsole,    ///< what people see and type on: framebuffer, keyboard, serial console
  kRootDisk,   ///< a disk below it carries the root file system or swap
  kBlock,      ///< a disk below it is in use
  kStorage,    ///< storage, whose use cannot be told here
  kNetwork,    ///< a network interface below it is in use
  kUsers,      ///< its host driver has users
  kSriov,      ///< a physical function with virtual functions
  kNoIommu,    ///< no IOMMU group, or one without isolation
  kMember,     ///< another member of its group cannot be changed
  kInUse,      ///< a device of the group is open
  kHeld,       ///< plugind has allocated the group
  kOperator,   ///< an operator excluded the device
  kPolicy,     ///< --deny matches, or --allow does not
  kUnguarded,  ///< the group's node cannot be held open while it is unbound
  kPlatform,   ///< part of the machine itself: chipset, memory controller, SMBus
};

inline constexpr unsigned kGuards = 17;

/// "bridge", "root-disk", ...
std::string_view nameOf(Guard guard);
std::optional<Guard> guardNamed(std::string_view name);

/// One of `--override GUARD[=ADDRESS]`; without an address it is for all devices.
struct GuardOverride {
  Guard guard;
  std::optional<Bdf> address;
  friend bool operator==(const GuardOverride&, const GuardOverride&) = default;
};

/// What a guard knows. Unknown refuses like blocked: absence of evidence is not evidence.
enum class Verdict : std::uint8_t { kBlocked, kUnknown };

/// A guard that did not answer "clear".
struct Objection {
  Guard guard;
  Bdf address;
  Verdict verdict = Verdict::kBlocked;
  std::string reason;  ///< for people: "nvme0n1 is mounted at /srv"
  std::string lift;    ///< what would lift it: "unmount it", "--override boot-vga"
  bool overridden = false;
  friend bool operator==(const Objection&, const Objection&) = default;
};

enum class ChangeKind : std::uint8_t { kBind, kUnbind, kCreateVfs };

/// What is wanted. The unit is the IOMMU group of each address.
struct ChangeOrder {
  ChangeKind kind = ChangeKind::kBind;
  std::vector<Bdf> addresses;
  std::string driver;  ///< to bind to; empty: chosen by the kernel's module aliases, else vfio-pci
  std::vector<GuardOverride> overrides;
  bool dryRun = false;
  bool keep = false;      ///< of a bind: declared as well, so that it is bound again after a reboot
  std::uint32_t vfs = 0;  ///< of kCreateVfs: how many the one address is to have
  friend bool operator==(const ChangeOrder&, const ChangeOrder&) = default;
};

/// One write into sysfs. `attribute` is relative to its root: "bus/pci/drivers/nvidia/unbind".
struct SysfsWrite {
  Bdf address;
  std::string attribute;
  std::string text;  ///< as written; a cleared driver_override is "\n"
  friend bool operator==(const SysfsWrite&, const SysfsWrite&) = default;
};

/// A device of the group that the plan does not touch.
struct LeftAlone {
  Bdf address;
  std::string why;
  friend bool operator==(const LeftAlone&, const LeftAlone&) = default;
};

enum class ChangeOutcome : std::uint8_t {
  kDone,         ///< all is as wanted; also what a dry run would do
  kAlreadySo,    ///< nothing to do
  kRefused,      ///< an objection stands, or the order makes no sense here; nothing was written
  kFailed,       ///< a write failed, and everything is as it was found
  kLeftChanged,  ///< a write failed, and `differences` says what is not as it was
  kStuck,        ///< a write has not come back; what it does in the end nobody knows
};
/// "done", "already-so", "refused", "failed", "left-changed", "stuck".
std::string_view nameOf(ChangeOutcome outcome);

/// What became of an order.
struct ChangeReport {
  ChangeOutcome outcome = ChangeOutcome::kDone;
  std::string error;  ///< for people: what, where, what would mend it; empty: nothing went wrong
  std::vector<SysfsWrite> writes;  ///< all of the plan, in order
  std::vector<LeftAlone> leftAlone;
  std::vector<Objection> objections;     ///< overridden ones, too
  std::vector<std::string> differences;  ///< what could not be undone, a line each
  std::vector<std::string> remarks;      ///< "0000:01:00.0: was bound by another boot: ..."
  std::uint64_t auditSequence = 0;       ///< of the intent's record; 0: none was written
  friend bool operator==(const ChangeReport&, const ChangeReport&) = default;
};

/// The exit code of the command line (design.md 8): 0, 1 or 3.
int exitCodeOf(ChangeOutcome outcome);

}  // namespace vfiogate
