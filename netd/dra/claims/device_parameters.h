#pragma once
// What a claim's opaque configurations ask of its devices. Pure.
//
// They are user input: {"apiVersion": "vfio.vfiogate.dev/v1alpha1", "kind": "DeviceConfig",
// "vfio": "auto|legacy|iommufd|both", "bind": "allowed|never"}, and nothing else.

#include "ipc/api/api_claim.h"
#include "ipc/base/result.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// One entry of status.allocation.devices.config.
struct ParameterEntry {
  bool fromClass = false;             ///< an administrator's; else the claim's author's
  std::vector<std::string> requests;  ///< "main" or "main/sub"; none: all
  std::optional<Backend> vfio;
  std::optional<bool> bindNever;
  std::string bad;  ///< why it cannot be used, naming the field; empty: it can
};

/// The entries of `config` (a list) that are for `driver`, in their order. Error: for people,
/// `config` is not what the API server stores.
Result<std::vector<ParameterEntry>, std::string> readParameterEntries(const nlohmann::json& config,
                                                                      const std::string& driver);

/// Whether an entry for `entryRequest` is for a device that was given to `request`: "main" takes in
/// "main/sub".
bool requestMatches(const std::string& entryRequest, const std::string& request);

/// The entries that are for `request`: the class's, then the claim's; the later wins, field by
/// field. Error: why the first bad one cannot be used.
Result<DeviceParameters, std::string> parametersFor(const std::vector<ParameterEntry>& entries,
                                                    const std::string& request);

}  // namespace vfiogate
