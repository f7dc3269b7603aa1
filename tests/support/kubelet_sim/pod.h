#pragma once
// Pods as a test describes them, and what became of them.

#include "proto/deviceplugin.pb.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {

struct ContainerSpec {
  std::string name;
  std::map<std::string, std::size_t> limits;  ///< resource to count
  bool sidecar = false;  ///< an init container that stays (restartPolicy Always)
  /// NUMA nodes that the topology manager chose for it; none: it has no preference.
  std::optional<std::set<long>> alignTo = {};
};

struct PodSpec {
  std::string uid;
  std::vector<ContainerSpec> initContainers;
  std::vector<ContainerSpec> containers;
  std::string name = {};  ///< empty: the uid
  std::string nameSpace = "default";
};

/// What one container got of one resource.
struct Granted {
  std::string container;
  std::string resource;
  std::vector<std::string> ids;
  v1beta1::ContainerAllocateResponse response;
};

struct Admission {
  bool admitted = false;
  bool kubeletDied = false;  ///< neither admitted nor rejected
  std::string reason;        ///< "UnexpectedAdmissionError" where a plugin refused
  std::string message;       ///< as it would stand in the pod's status
  std::vector<Granted> granted;
};

/// One attempt to start a container.
struct ContainerStart {
  bool started = false;
  bool kubeletDied = false;      ///< before the container was created
  std::string error;             ///< of CreateContainerConfigError; the real one tries again later
  std::vector<Granted> granted;  ///< by an Allocate at the start: nothing was recorded (1.8)
};

}  // namespace vfiogate::sim
