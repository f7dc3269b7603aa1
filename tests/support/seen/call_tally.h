#pragma once
// What a process asked of the kernel, held against its table: the tool for tuning a table, and the
// proof that a row is needed.

#include "seccomp/rule.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vfiogate::test {

using CallArgs = std::array<std::uint64_t, 6>;

/// How often a call, or one of a row's, was made; and the first of them.
struct CallCount {
  std::size_t count = 0;
  std::int64_t firstNumber = -1;
  CallArgs firstArgs{};
};

/// What a process did after it would have been under the filter.
struct CallTally {
  bool filterLoaded = false;                   ///< false: the rest is empty
  std::vector<CallCount> rowUses;              ///< per row of the table
  std::map<std::int64_t, CallCount> unlisted;  ///< by number; each would have killed
};

/// True if the first call that used the row gets the row's answer from the table's filter, and is
/// killed by the filter of the table without the row. True of rows that were not used, too, and of
/// those about the process's own pid.
bool isNeededWhereUsed(const CallTally& tally, std::span<const Rule> table, std::size_t row);

/// For people: each row with its uses, then the calls without a row. A row that is not defensive
/// and was not used says UNUSED, one without which its call fares no worse NEEDLESS.
std::string str(const CallTally& tally, std::span<const Rule> table);

}  // namespace vfiogate::test
