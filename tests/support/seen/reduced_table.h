#pragma once
// Tables with a row missing, to show that the row is needed.

#include "seccomp/rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace vfiogate::test {

/// `table` without its row number `row` (from 0); all of it if there is no such row.
inline std::vector<Rule> withoutRow(std::span<const Rule> table, std::size_t row) {
  std::vector<Rule> rest(table.begin(), table.end());
  if (row < rest.size()) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(row));
  return rest;
}

}  // namespace vfiogate::test
