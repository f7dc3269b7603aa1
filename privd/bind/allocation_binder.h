#pragma once
// Binds groups for allocations, and gives them back.

#include "ipc/types/bdf.h"

#include <kj/async.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

/// What became of a change that plugind asked for.
struct AllocationAnswer {
  enum class Outcome : std::uint8_t {
    kDone,     ///< as wanted, also where it was so already
    kRefused,  ///< by the policy or a guard: nothing was written
    kFailed,   ///< a write failed; V says what is left of it
    kStuck,    ///< a write has not come back
    kVanished,
  };
  Outcome outcome = Outcome::kDone;
  std::string why;  ///< for people, without what is secret from a peer; empty: done, vanished

  friend bool operator==(const AllocationAnswer&, const AllocationAnswer&) = default;
};

/// Asked by the capabilities over groups. Neither call fails, and both may be repeated, also while
/// one runs. A promise resolves when HostView::current() shows what the change left; it may
/// be dropped before, when its peer goes: the change goes on.
class AllocationBinder {
public:
  /// Every endpoint of the group that `members` are ends on a VFIO driver or on none, or all are
  /// put back. Recorded as bound for an allocation.
  virtual kj::Promise<AllocationAnswer> bind(const std::vector<Bdf>& members) = 0;
  /// What was bound for an allocation goes back to the driver that it had. Nothing else does, and
  /// where nothing was, that is done.
  virtual kj::Promise<AllocationAnswer> giveBack(const std::vector<Bdf>& members) = 0;

protected:
  ~AllocationBinder() = default;
};

}  // namespace vfiogate
