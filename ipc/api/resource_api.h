#pragma once
// The versions of resource.k8s.io that `netd dra` speaks.

#include <array>
#include <cstdint>

namespace vfiogate {

enum class ResourceApi : std::uint8_t {
  kV1,       ///< Kubernetes 1.34 and later
  kV1beta2,  ///< from 1.33 on, where it is turned on: v1 by another name
  kV1beta1,  ///< from 1.32 on, where it is turned on: what a device has is in its `basic`
};

/// The newest first.
inline constexpr std::array kResourceApis{ResourceApi::kV1, ResourceApi::kV1beta2,
                                          ResourceApi::kV1beta1};

/// "v1beta1"
constexpr const char* nameOf(ResourceApi api) {
  switch (api) {
    case ResourceApi::kV1:
      return "v1";
    case ResourceApi::kV1beta2:
      return "v1beta2";
    case ResourceApi::kV1beta1:
      break;
  }
  return "v1beta1";
}

}  // namespace vfiogate
