#pragma once
// Where the hardware process may open files once it is locked down: the table of its Landlock
// rules. What it only looks at, such as device nodes, needs none, nor does dialling plugind.

#include "privd/options/program_options.h"
#include "privd/sandbox/place_table.h"

#include <array>

namespace vfiogate {

/// What stands for the names in the table.
inline PlaceValues placeValuesOf(const HardwareOptions& options) {
  return {{"<sysfs>", options.sysfs}};
}

inline constexpr std::array kHardwarePlaces{
    PlaceRow{"<sysfs>", kReadFile | kReadDirectory, "attributes and lists of the hardware"},
};

}  // namespace vfiogate
