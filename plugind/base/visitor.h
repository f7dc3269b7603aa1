#pragma once
// Who, beside privd, may connect to plugind's socket.

#include <cstdint>

namespace vfiogate {

enum class Visitor : std::uint8_t {
  kOwnUser,  ///< plugind's commands: may ask everything
  kNetd,     ///< has a network, so it may ask for metrics and readiness only
};

}  // namespace vfiogate
