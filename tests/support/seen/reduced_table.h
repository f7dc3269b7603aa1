#pragma once
// Tables taken apart: with a row missing, to show that the row is needed; a row for each call.

#include "seccomp/rule.h"

#include <algorithm>
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

/// The first row for the call with this number; the end if there is none.
template <typename Table>
auto rowFor(const Table& table, int number) {
  return std::ranges::find_if(table, [number](const Rule& row) { return row.isFor(number); });
}

/// `table` with each row that has alternatives as so many rows.
inline std::vector<Rule> byCall(std::span<const Rule> table) {
  std::vector<Rule> rows;
  for (const Rule& row : table) {
    for (const SystemCall& call : row.calls()) rows.push_back(row.only(call));
  }
  return rows;
}

/// Of a row that has one call.
inline int onlyCall(const Rule& row) {
  return row.calls().front().number;
}

}  // namespace vfiogate::test
