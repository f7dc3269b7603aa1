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

/// A claim of the pod, as one container asks for it.
struct ContainerClaim {
  std::string name;          ///< of the PodClaim
  std::string request = {};  ///< empty: all of the claim's devices
};

/// One of the pod's resourceClaims.
struct PodClaim {
  std::string name;   ///< within the pod
  std::string claim;  ///< the ResourceClaim's name; empty: not made from its template yet
  bool fromTemplate = false;
};

struct ContainerSpec {
  std::string name;
  std::map<std::string, std::size_t> limits;  ///< resource to count
  bool sidecar = false;  ///< an init container that stays (restartPolicy Always)
  /// NUMA nodes that the topology manager chose for it; none: it has no preference.
  std::optional<std::set<long>> alignTo = {};
  std::vector<ContainerClaim> claims = {};
};

struct PodSpec {
  std::string uid;
  std::vector<ContainerSpec> initContainers;
  std::vector<ContainerSpec> containers;
  std::string name = {};  ///< empty: the uid
  std::string nameSpace = "default";
  std::vector<PodClaim> claims = {};
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
  std::vector<std::string> cdiDevices;  ///< names of its claims' devices, each once (5.2)
};

/// One attempt to start a pod.
struct PodStart {
  bool started = false;  ///< all containers run, or have
  bool sandbox = false;  ///< its claims are prepared
  bool kubeletDied = false;
  std::string error;
  std::map<std::string, ContainerStart> containers;  ///< those it tried to start
};

/// One device of a claim in the status of a pod (5.6).
struct DeviceStatus {
  std::string container;
  std::string name;        ///< "claim:<name>" or "claim:<name>/<request>"
  std::string resourceId;  ///< a CDI name, or "driver/pool/device"
  std::string health;
  std::string message;

  friend bool operator==(const DeviceStatus&, const DeviceStatus&) = default;
};

}  // namespace vfiogate::sim
