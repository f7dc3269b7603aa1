#pragma once
// Addresses of devices that are not there.

#include "ipc/types/bdf.h"

#include <array>
#include <cstdio>

namespace vfiogate::test {

/// The `number`th of a machine that has as many functions as there may be.
inline Bdf madeUp(unsigned number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0001:%02x:%02x.%x", number >> 8U, (number >> 3U) & 0x1fU,
                number & 7U);
  return *Bdf::parse(text.data());
}

}  // namespace vfiogate::test
