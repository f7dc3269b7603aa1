#pragma once
// Claims as played-netd is told of them: a file of lines, each one allocated claim.
//
//   NAMESPACE/NAME UID DEVICE... [bind=never]

#include "ipc/api/api_claim.h"
#include "ipc/base/result.h"

#include <map>
#include <string>

namespace vfiogate::test {

/// By "NAMESPACE/NAME". All devices are of request "main" and of this pool.
using ClaimLines = std::map<std::string, AllocatedClaim>;

/// Error: the line that is none, for people.
Result<ClaimLines, std::string> readClaimLines(const std::string& text, const std::string& pool);

}  // namespace vfiogate::test
