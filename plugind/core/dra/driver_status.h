#pragma once
// How the DRA driver stands with the kubelet and with the Kubernetes API, for operators.

#include "ipc/api/resource_api.h"
#include "plugind/core/dra/dra_registration.h"

#include <cstddef>
#include <optional>
#include <string>

namespace vfiogate {

/// Source: its registrar, the netd that is attached, and the pool that it was told last.
struct DriverStatus {
  std::string driver;
  DraRegistrationState registration = DraRegistrationState::kUnwanted;
  std::string trouble;  ///< why it is not registered, for people; empty: nothing went wrong
  bool apiThere = false;
  std::optional<ResourceApi> resourceApi;  ///< that the API server is spoken to in, once it was
  std::string node;                ///< that netd said it is on; empty: none was attached yet
  std::size_t poolDevices = 0;     ///< published; 0: nothing was yet
  std::size_t taintedDevices = 0;  ///< of these

  friend bool operator==(const DriverStatus&, const DriverStatus&) = default;
};

}  // namespace vfiogate
