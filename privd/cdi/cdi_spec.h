#pragma once
// The texts of CDI specs, static ones and those of prepared claims, their files' names and the
// device nodes that they name.

#include "ipc/base/kube_names.h"
#include "ipc/gate/spec_nodes.h"
#include "ipc/types/claim_spec.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Nodes that the devices of one static spec name, in all.
constexpr std::size_t kMostSpecMentions = 32'768;

/// The spec as JSON, version 0.5.0, of the kind `resource`, each device under its address. Nothing
/// is escaped, and no JSON library runs as root for it: a checked resource name, addresses, and
/// paths made of constants and numbers have no character that JSON would want escaped. `text` names
/// at most kMostSpecMentions nodes.
std::string specText(const ResourceName& resource, const StaticSpecText& text);

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

/// `vfiogate-claim-<uid>.json`.
std::string claimFileName(const std::string& uid);
/// Null for every name that claimFileName() does not make.
std::optional<std::string> claimUidOf(std::string_view name);

/// The spec as JSON, version 0.5.0. `nodes`: of each device. `metadataDirectory`: the host's, for
/// those mounts that the spec asks for. Nothing is escaped: faultIn() finds nothing in `spec`, and
/// isPlainPath() holds for the directory.
std::string claimSpecText(const ClaimSpec& spec, const std::vector<std::vector<std::string>>& nodes,
                          const std::string& metadataDirectory);

/// True if JSON takes `path` as it is.
bool isPlainPath(std::string_view path);

}  // namespace vfiogate
