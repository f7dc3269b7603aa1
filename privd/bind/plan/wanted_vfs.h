#pragma once
// Virtual functions that physical functions are to have from privd's start on.

#include "ipc/types/selector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// One of --vfs.
struct WantedVfs {
  std::string text;  ///< as it was given
  Selector which;
  std::uint32_t count;
  friend bool operator==(const WantedVfs&, const WantedVfs&) = default;
};

/// "0000:3b:00.0=8", "8086:1593=8", "vendor=8086,class=02=8".
Result<WantedVfs, std::string> parseVfs(std::string_view text);

/// True if `wanted` is about this physical function; of all others it is not.
bool isAbout(const WantedVfs& wanted, const PciDevice& device);

/// How many the first of `wanted` that is about the device wants; null: none is.
std::optional<std::uint32_t> vfsFor(const PciDevice& device, const std::vector<WantedVfs>& wanted);

}  // namespace vfiogate
