#pragma once
// Every lending and refusal as one JSON object per line.

#include "ipc/types/resource_name.h"
#include "plugind/core/group_ledger.h"
#include "plugind/core/refusal.h"

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

namespace vfiogate {

/// Writes to `out` (borrowed) and flushes after each line. Strings from outside are JSON strings.
class LedgerJournal {
public:
  explicit LedgerJournal(std::ostream& out) : out_(out) {}

  /// One line per group: {"time","event":"lent"|"lent-again","resource","devices","rest","members",
  /// "ref"}.
  void lent(const Grant& grant);
  /// {"time","event":"refused","resource","ids","reason","text"}.
  void refused(std::chrono::sys_seconds now, const ResourceName& resource,
               const std::vector<std::string>& ids, const Refusal& refusal);

private:
  std::ostream& out_;
};

}  // namespace vfiogate
