#pragma once
// A static CDI spec's text and its file's name.

#include "ipc/base/resource_name.h"
#include "ipc/types/bdf.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// A device of a spec.
struct SpecDevice {
  Bdf address;                     ///< its name
  std::vector<std::string> nodes;  ///< absolute paths, the same on the host and in the container
};

/// The spec as JSON, version 0.5.0, of the kind `resource`. Nothing is escaped, and no JSON library
/// runs as root for it: a checked resource name, addresses, and paths made of constants and numbers
/// have no character that JSON would want escaped. `devices`: at least one, each with nodes.
std::string specText(const ResourceName& resource, const std::vector<SpecDevice>& devices);

/// Of a container's device nodes, what stands between the brackets.
std::string nodesText(const std::vector<std::string>& nodes);

/// `vfiogate-<16 hex digits>.json`: the digits stand for the resource.
std::string specFileName(const ResourceName& resource);

/// True for every name that specFileName() can make, and for the temporary one of such a file: what
/// is called so in the directory is ours. Other files of ours have names of another shape.
bool isSpecFileName(std::string_view name);

/// Under which the file `name` is written before it takes its name. A runtime reads .json and .yaml
/// only.
std::string temporaryNameOf(std::string_view name);

/// The name that a file of this temporary name is to take; any other name as it is.
std::string_view lastingNameOf(std::string_view name);

}  // namespace vfiogate
