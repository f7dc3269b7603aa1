#pragma once
// Who has which device, by the record of allocations, for people.

#include "ipc/types/unit_id.h"

#include <map>
#include <string>
#include <string_view>

namespace vfiogate {

/// Of one device. All of it is printable ASCII.
struct RecordedHolder {
  std::string who;  ///< "default/vm-1", "claim default/gpu", or the reference that stands for it
  std::string resource;  ///< "vfiogate.dev/gpu"; empty: not known
  std::string since;     ///< UTC, "2026-11-23T10:42:07Z"; empty: not known

  friend bool operator==(const RecordedHolder&, const RecordedHolder&) = default;
};

/// What is on record.
struct RecordedHolders {
  std::map<UnitId, RecordedHolder> devices;
  std::string problem;  ///< why nothing is known, in words; empty: all that is on record is here
};

/// From plugind's words about one group: the latest of its allocations.
RecordedHolder holderInNote(std::string_view note);

/// Where privd keeps it (recordDirectory()).
inline constexpr const char* kMachinesRecord = "/run/vfiogate/devices";

/// Reads the files below `directory`, which is not made where it is missing; nothing is locked.
/// What was written in another boot does not count. A file that makes no sense is an unknown
/// holder's.
RecordedHolders readRecordedHolders(const std::string& directory);

/// "default/vm-1 since 2026-11-23 11:42", in the time zone of whoever asks.
std::string wordsFor(const RecordedHolder& holder);

}  // namespace vfiogate
