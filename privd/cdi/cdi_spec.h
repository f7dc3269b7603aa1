#pragma once
// The texts of CDI specs, static ones and those of prepared claims, their files' names and the
// device nodes that they name.

#include "ipc/base/kube_names.h"
#include "ipc/types/bdf.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/vfio_nodes.h"
#include "privd/scan/sysfs_root.h"

#include <set>
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

/// Those that reach all of `addresses`, each looked for once more. Empty: one of them cannot be
/// reached now.
std::vector<std::string> nodesOnDisk(const DevRoot& dev, const Snapshot& hardware,
                                     const std::set<Bdf>& addresses, Backend backend);

/// `vfiogate-claim-<uid>.json`.
std::string claimFileName(const std::string& uid);
/// True for every name that claimFileName() can make.
bool isClaimFileName(std::string_view name);

/// The spec as JSON, version 0.5.0. `nodes`: of each device. `metadataDirectory`: the host's, for
/// those mounts that the spec asks for. Nothing is escaped: faultIn() finds nothing in `spec`, and
/// isPlainPath() holds for the directory.
std::string claimSpecText(const ClaimSpec& spec, const std::vector<std::vector<std::string>>& nodes,
                          const std::string& metadataDirectory);

/// True if JSON takes `path` as it is.
bool isPlainPath(std::string_view path);

}  // namespace vfiogate
