#pragma once
// Which names plugind may serve: what its resources begin with, and the DRA driver that it may be.

#include "ipc/base/kube_names.h"

#include <algorithm>
#include <string>
#include <vector>

namespace vfiogate {

struct ServedNames {
  std::vector<std::string> prefixes;  ///< --resource-prefix
  std::string draDriver;              ///< --dra-driver; empty: none

  /// True if one of the prefixes does.
  bool covers(const ResourceName& resource) const {
    return std::ranges::any_of(prefixes, [&resource](const std::string& prefix) {
      return resource.str().starts_with(prefix);
    });
  }
};

}  // namespace vfiogate
