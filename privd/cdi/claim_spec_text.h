#pragma once
// The text of a prepared claim's CDI spec and its file's name.

#include "ipc/types/claim_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

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
