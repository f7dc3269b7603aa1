#pragma once
// Of what tree a program was built. It is another one with every commit, so only programs are
// linked with it, and hand it on: nothing else is compiled or linked again.

#include <string_view>

namespace vfiogate {

struct BuildInfo {
  std::string_view version = "unknown";
  std::string_view commit = "unknown";  ///< with "-dirty" behind it where files had changed since
  std::string_view date = "unknown";    ///< the commit's, or SOURCE_DATE_EPOCH's: never the clock's
  std::string_view text = "unknown";    ///< all of it, for --version

  friend bool operator==(const BuildInfo&, const BuildInfo&) = default;
};

/// Source: cmake/write_build_info.cmake.
extern const BuildInfo kBuild;

}  // namespace vfiogate
