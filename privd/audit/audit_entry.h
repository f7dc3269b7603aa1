#pragma once
// What is written into the audit log, as values.

#include "ipc/types/binding_change.h"
#include "ipc/types/unit_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// The peer that asked. Pid 0 (another PID namespace) is written as null.
struct AuditPeer {
  std::string role;  ///< "root", "plugind", "privd" (what is declared)
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
};

/// A device before the change.
struct AuditDevice {
  Bdf address;
  std::string driver;          ///< empty: none
  std::string driverOverride;  ///< empty: none, or not known
};

/// What is about to be written. In the log, durable, before the first write.
struct AuditIntent {
  AuditPeer peer;
  std::string operation;               ///< "bind", "unbind", "create-vfs"
  std::optional<std::uint32_t> group;  ///< null: the order is for several
  std::vector<AuditDevice> devices;
  std::vector<SysfsWrite> writes;
  std::vector<SysfsWrite> undo;  ///< what takes all of them back, should one fail, in order
  std::vector<Objection> overridden;
};

/// What became of it.
struct AuditOutcome {
  std::uint64_t intent;  ///< its sequence number
  ChangeOutcome outcome;
  std::string error;
  std::vector<std::string> differences;
};

/// Anything else worth a record: "started", "hold", "release", "declare", "forget", "refusals",
/// "late-end".
struct AuditNote {
  AuditPeer peer;
  std::string operation;
  std::vector<UnitId> devices;
  std::string text;
};

/// Where the log stands: its anchor.
struct AuditHead {
  std::uint64_t sequence = 0;  ///< 0: no record yet
  std::string hash;            ///< 64 hex digits; of no record: zeros
};

}  // namespace vfiogate
