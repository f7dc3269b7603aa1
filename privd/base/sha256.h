#pragma once
// SHA-256, by libmd.

#include <string>
#include <string_view>

#include "ipc/base/kube_names.h"

namespace vfiogate {

/// 64 hex digits, lower case.
std::string sha256Digits(std::string_view text);

/// The first 16 hex digits, lower case, of the SHA-256 of the resource's name.
std::string digestOf(const ResourceName& resource);

}  // namespace vfiogate
