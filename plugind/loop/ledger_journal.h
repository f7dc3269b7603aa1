#pragma once
// Every allocation, naming, release, lingering and refusal as one JSON object per line.

#include "plugind/core/ledger/state/effects.h"

#include <iosfwd>

namespace vfiogate {

/// Writes to `out` (borrowed) and flushes after each line. Strings from outside are JSON strings.
/// docs/journal.md has the fields, which are stable.
class LedgerJournal {
public:
  explicit LedgerJournal(std::ostream& out) : out_(out) {}

  void write(const JournalEvent& event);

private:
  std::ostream& out_;
};

}  // namespace vfiogate
