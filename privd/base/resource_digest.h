#pragma once
// The part of a file's name that stands for a resource.

#include "ipc/base/resource_name.h"

#include <string>

namespace vfiogate {

/// The first 16 hex digits, lower case, of the SHA-256 of the resource's name.
std::string digestOf(const ResourceName& resource);

}  // namespace vfiogate
