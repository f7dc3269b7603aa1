#pragma once
// Reads what is on disk of a prepared claim: its CDI spec, as privd hands the text over.

#include "ipc/base/result.h"
#include "ipc/types/claim_spec.h"

#include <string>

namespace vfiogate {

/// The claim's spec as it was asked for, out of its text (ipc/types/claim_spec.h has the form).
/// Error: what is wrong, for the log. A text that is not wholly as privd writes it tells nothing:
/// it never means that a device is free.
Result<ClaimSpec, std::string> readClaimSpec(const std::string& text);

}  // namespace vfiogate
