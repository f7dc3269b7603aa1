#pragma once
// Pods and their claims in the form of Kubernetes manifests, as far as a plugin's life needs them.

#include "ipc/base/result.h"
#include "sim/kubelet/base/pod.h"
#include "sim/kubelet/dra/claim_source.h"

#include <string>
#include <vector>

namespace vfiogate::sim {

struct ManifestError {
  int line = 0;  ///< from 1; 0: the file as a whole
  std::string why;
};

struct Manifest {
  std::vector<PodSpec> pods;
  std::vector<ResourceClaim> claims;  ///< as a scheduler left them, but for who may use them
};

/// The documents of `yaml`. A pod or claim without a uid has an empty one. What is not understood
/// is refused, except fields that say nothing about devices (an image, a command).
Result<Manifest, ManifestError> parseManifest(const std::string& yaml);

}  // namespace vfiogate::sim
