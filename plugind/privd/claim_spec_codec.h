#pragma once
// A claim's spec on the line, and what privd says of claims' specs.

#include "ipc/base/result.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/privd/privd_view.h"

#include <string>
#include <vector>

namespace vfiogate {

void encode(const ClaimSpec& spec, schema::ClaimSpec::Builder to);

/// `devices`: as many names are to come.
Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecAnswer::Reader answer,
                                                     std::size_t devices);
Result<Done, SpecTrouble> decode(schema::UnlinkAnswer::Reader answer);
Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecsAnswer::Reader answer);

}  // namespace vfiogate
