#pragma once
// Names of drivers, as an operator may give them.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace vfiogate {

constexpr std::size_t kLongestDriver = 64;

/// True for "vfio-pci", "mlx5_vfio_pci": letters, digits, '-', '_' and '.', at most 64, the first
/// no dot. It is one part of a path, and one line, wherever it is written.
constexpr bool isDriverName(std::string_view name) {
  const auto mayBe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kLongestDriver && name.front() != '.' &&
         std::ranges::all_of(name, mayBe);
}

}  // namespace vfiogate
