#pragma once
// What privd keeps over restarts and reboots: small files of `key=value` lines below --state-dir.

#include "ipc/base/result.h"
#include "ipc/types/unit_id.h"

#include <kj/io.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// Which card is meant: an address alone may be another one after a card has moved.
struct DeviceIdentity {
  Bdf address;
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

enum class BoundFor : std::uint8_t { kHand, kDeclaration, kAllocation };
std::string_view nameOf(BoundFor purpose);  ///< "hand", "declaration", "allocation"

/// A device that privd bound to a VFIO driver, with what was there before.
struct BoundDevice {
  DeviceIdentity device;
  std::string driver;          ///< it was bound to this one
  std::string formerDriver;    ///< empty: none
  std::string formerOverride;  ///< empty: none
  std::string bootId;          ///< of the boot in which it was bound
  BoundFor purpose = BoundFor::kHand;
  friend bool operator==(const BoundDevice&, const BoundDevice&) = default;
};

/// The folder of exclusions, a file a device, whose name is the device's address or UUID.
inline constexpr const char* kExclusionsFolder = "holds";

/// A device that an operator took out of offer, a mediated one, too.
struct Exclusion {
  UnitId device;
  std::string reason;      ///< one line, at most 200 bytes
  std::int64_t since = 0;  ///< s since 1970
  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

struct StateFailure {
  int error;         ///< errno; EOVERFLOW: more files than there may be
  std::string file;  ///< for people: "holds/0000:01:00.0"

  std::string str() const;
};

enum class StateKind : std::uint8_t { kBound, kExclusions, kDeclared };

/// The files of one kind, each under the name of the device that it is about.
struct StateShelf {
  std::string name;
  kj::AutoCloseFd directory;
};

/// Every question is answered from the files: a daemon and commands change them side by side. What
/// is bound changes only under the lock of its device (AllocationFiles::lock); whoever has that
/// reads what nobody else changes. A change is durable when the call returns, and its file is the
/// old one where it failed. A file that makes no sense is left alone; it never hides the others. An
/// exclusion that makes no sense still counts. At most 4096 files of a kind, each below 4 KiB.
/// Opens nothing by a path once it is made.
class StateDirectory {
public:
  /// Makes the directories that are missing below `path`, which exists.
  static Result<StateDirectory, StateFailure> open(const std::string& path);

  /// For one kind alone, of which the directory is opened, and made, by its own path: whoever may
  /// reach no more can do that. What is asked about the others fails.
  static Result<StateDirectory, StateFailure> openOnly(const std::string& path, StateKind kind);

  /// All that make sense, ascending by device. Fails where the folder cannot be listed.
  Result<std::vector<BoundDevice>, StateFailure> bound() const;
  Result<std::vector<Exclusion>, StateFailure> exclusions() const;
  Result<std::vector<DeviceIdentity>, StateFailure> declared() const;  ///< --keep
  /// Files as they were met when it was opened, each with what is wrong.
  const std::vector<std::string>& problems() const { return problems_; }

  /// Null: nothing of it is on file that makes sense.
  std::optional<BoundDevice> boundAt(const Bdf& address) const;
  /// The same of what was declared there.
  std::optional<DeviceIdentity> declaredAt(const Bdf& address) const;
  bool isExcluded(const UnitId& device) const;

  /// Each replaces what there was for the device. EINVAL: a text of it is no line, or too long.
  /// EWOULDBLOCK: another process has been changing files of the kind for a second.
  Result<Done, StateFailure> put(const BoundDevice& device);
  Result<Done, StateFailure> put(const Exclusion& exclusion);
  Result<Done, StateFailure> put(const DeviceIdentity& declared);

  /// Repeatable.
  Result<Done, StateFailure> dropBound(const Bdf& address);
  Result<Done, StateFailure> dropExclusion(const UnitId& device);
  Result<Done, StateFailure> dropDeclared(const Bdf& address);

private:
  StateDirectory() = default;

  StateShelf bound_{.name = "bindings", .directory = {}};
  StateShelf exclusions_{.name = kExclusionsFolder, .directory = {}};
  StateShelf declared_{.name = "declared", .directory = {}};
  std::vector<std::string> problems_;
};

}  // namespace vfiogate
