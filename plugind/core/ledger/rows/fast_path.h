#pragma once
// Events that leave everything as it is but for the group that they are about.
//
// What follows from an event is worked out anew from the whole state, by `finish` in ledger.cc, so
// that nothing can be forgotten; it costs as much as there are devices and holders. An Allocate
// waits for two events: free groups are taken, and found idle. If nobody else is shown a device of
// these groups, and nothing else is due, working it out would change nothing; nor where it is
// refused at once, and nothing else came of it: this file knows when that is so.
// ledger_property_test works it out all the same, and compares.

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {

/// How the ledger was before an event that may turn out to be one of these.
class FastPath {
public:
  FastPath(const LedgerState& state, Instant now);

  /// An Allocate came: true if all it did was to take free groups, and what follows from that is
  /// done here.
  bool staysAfterTaking(Turn& turn, CallId id) const;
  /// An Allocate came: true if it was refused, and that is all.
  bool staysAfterRefusal(const Turn& turn, CallId id) const;
  /// privd has read a group for this call: true if it was granted, or waits for others of its
  /// groups, and what follows from that is done here.
  bool staysAfterReading(Turn& turn, CallId id) const;

private:
  bool was_;
  std::size_t calls_;
  std::size_t records_;
  std::size_t marks_;
  std::optional<Instant> reconcileWanted_;
};

/// Everything that follows has been worked out: until when that stands, if it may at all.
/// `due`: when something is due by itself, but for the deadlines of calls.
void rememberFastPath(LedgerState& state, std::optional<Instant> due);

}  // namespace vfiogate
