#pragma once
// Pods in the form of Kubernetes manifests, as far as a device plugin's life needs them.

#include "ipc/types/result.h"
#include "tests/support/kubelet_sim/pod.h"

#include <string>
#include <vector>

namespace vfiogate::sim {

struct ManifestError {
  int line = 0;  ///< from 1; 0: the file as a whole
  std::string why;
};

/// The pods of all documents in `yaml`. A pod without a uid has an empty one. What is not
/// understood is refused, except fields that say nothing about devices (an image, a command).
Result<std::vector<PodSpec>, ManifestError> parseManifest(const std::string& yaml);

}  // namespace vfiogate::sim
