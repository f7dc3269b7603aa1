#pragma once
// Which boot of the machine this is.

#include <fstream>
#include <string>

namespace vfiogate {

/// The kernel's own name of this boot; empty: /proc does not say.
inline std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace vfiogate
