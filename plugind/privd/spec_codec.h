#pragma once
// A declaration of static specs as an RPC message, and privd's answer.

#include "ipc/base/result.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/privd/privd_view.h"

#include <string>
#include <vector>

namespace vfiogate {

schema::Handles handlesOf(Backend backend);

void encode(const std::vector<StaticSpec>& specs, capnp::List<schema::StaticSpec>::Builder to);

/// Error: it does not fit to `specs`, in words.
Result<SpecAnswer, std::string> decode(schema::SpecsAnswer::Reader answer,
                                       const std::vector<StaticSpec>& specs);

/// None of them is in place, all for the same reason.
SpecAnswer answerForAll(const std::vector<StaticSpec>& specs, const std::string& trouble);

void encode(const ClaimSpec& spec, schema::ClaimSpec::Builder to);

/// `devices`: as many names are to come.
Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecAnswer::Reader answer,
                                                     std::size_t devices);
Result<Done, SpecTrouble> decode(schema::UnlinkAnswer::Reader answer);
Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecsAnswer::Reader answer);

}  // namespace vfiogate
