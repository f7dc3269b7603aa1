#pragma once
// From what the API server says of a claim to what the ledger is asked, and to what the kubelet and
// the claim's status are told.
// The CDI spec that a claim's Prepare wants.

#include "ipc/api/api_claim.h"
#include "ipc/base/result.h"
#include "ipc/types/claim_spec.h"
#include "plugind/core/dra/prepared_claim.h"
#include "plugind/core/ledger/state/ledger_state.h"

#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// The devices of `claim` that the kubelet wants prepared as `asked`, each under its resource.
/// Error: why it cannot be prepared, for people; what stands in the claim is quoted and cut.
/// `poolName`: the node's.
Result<PrepareRequest, std::string> requestOf(const ClaimName& asked, const AllocatedClaim& claim,
                                              const Settings& settings, const LedgerState& state,
                                              const std::string& poolName);

/// What the kubelet is told of a claim that was prepared, in the claim's order. A device that
/// several requests have is named once, with all of them. `cdiNames`: by device, of the spec.
/// `sets`: as in PrepareRequest; a set has the names of all its devices.
std::vector<PreparedDevice> preparedDevices(const AllocatedClaim& claim,
                                            const std::map<UnitId, std::string>& cdiNames,
                                            const std::map<UnitId, std::string>& sets = {});

/// The same for the claim's status.
std::vector<ReportedDevice> reportedDevices(const AllocatedClaim& claim);
/// The same of a claim that cannot be given back yet; `why` for people.
std::vector<ReportedDevice> heldDevices(const AllocatedClaim& claim, const std::string& why);

/// Of "main/sub" "main": a container finds its devices under the request's own name only.
std::string requestName(const std::string& request);

/// `prepare`: the call for it whose spec the ledger asks to be written; it is in `state` still.
/// Each device is handed over as its resource and the claim's parameters want it, of whole groups
/// with all members that the resource has, by what privd saw last.
ClaimSpec claimSpecOf(const LedgerState& state, const Call& prepare, const AllocatedClaim& claim,
                      const DraSettings& dra);

}  // namespace vfiogate
