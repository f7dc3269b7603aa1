#include "sim/kubelet_program/manifest.h"

#include "ipc/base/kube_names.h"
#include "sim/sysfs/topology/yaml_reader.h"

#include <set>

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kMostDevices = 100'000;

class ManifestReader {
public:
  void document(const YAML::Node& node, Manifest& manifest) {
    const bool isClaim = node.IsMap() && node["kind"] && node["kind"].IsScalar() &&
                         node["kind"].Scalar() == "ResourceClaim";
    if (isClaim) {
      manifest.claims.push_back(claim(node));
    } else {
      manifest.pods.push_back(pod(node));
    }
  }
  const std::optional<TopologyError>& error() const { return yaml_.error(); }

private:
  PodSpec pod(const YAML::Node& node) {
    PodSpec pod;
    pod.nameSpace = "default";
    if (!yaml_.isMapping(node, {"apiVersion", "kind", "metadata", "spec"}, "a pod")) return pod;
    word(node, "apiVersion", "v1");
    word(node, "kind", "Pod");
    metadata(node, pod);
    spec(node, pod);
    return pod;
  }

  ResourceClaim claim(const YAML::Node& node) {
    ResourceClaim claim;
    if (!yaml_.isMapping(node, {"apiVersion", "kind", "metadata", "spec", "status"}, "a claim")) {
      return claim;
    }
    word(node, "apiVersion", "resource.k8s.io/v1");
    metadata(node, claim);
    claim.allocated = false;
    const YAML::Node status = node["status"];
    if (!status || !yaml_.isMapping(status, {"allocation", "reservedFor", "devices"}, "status")) {
      return claim;
    }
    const YAML::Node allocation = status["allocation"];
    if (!allocation || !yaml_.isMapping(allocation, {"devices", "nodeSelector"}, "allocation")) {
      return claim;
    }
    claim.allocated = true;
    const YAML::Node devices = allocation["devices"];
    if (!devices || !yaml_.isMapping(devices, {"results", "config"}, "allocation.devices")) {
      return claim;
    }
    yaml_.forEach(devices["results"], "results",
                  [&](const YAML::Node& each) { claim.results.push_back(result(each)); });
    return claim;
  }

  AllocationResult result(const YAML::Node& node) {
    AllocationResult result;
    if (!yaml_.isMapping(node, {"request", "driver", "pool", "device", "shareID"}, "a result")) {
      return result;
    }
    result.request = needed(node, "request");
    result.driver = needed(node, "driver");
    result.pool = needed(node, "pool");
    result.device = needed(node, "device");
    whenThere(node, "shareID",
              [&](const YAML::Node& id) { result.shareId = yaml_.text(id, "shareID"); });
    return result;
  }

  std::string needed(const YAML::Node& node, const char* key) {
    if (node[key]) return yaml_.text(node[key], key);
    yaml_.refuse(node, std::string(key) + " is missing");
    return "";
  }

  /// The one word that the key must have.
  void word(const YAML::Node& node, const char* key, const char* wanted) {
    if (!node[key]) {
      yaml_.refuse(node, std::string(key) + " is missing: it must be " + wanted);
    } else if (yaml_.text(node[key], key) != wanted) {
      yaml_.refuse(node[key], std::string(key) + " must be " + wanted + ", nothing else is known");
    }
  }

  /// Of a pod or a claim.
  template <typename Named>
  void metadata(const YAML::Node& node, Named& pod) {
    const YAML::Node metadata = node["metadata"];
    if (!metadata) return yaml_.refuse(node, "metadata is missing");
    if (!yaml_.isMapping(metadata, {"name", "namespace", "uid", "labels", "annotations"},
                         "metadata")) {
      return;
    }
    if (!metadata["name"]) return yaml_.refuse(metadata, "metadata.name is missing");
    pod.name = plainWord(metadata["name"], "metadata.name");
    if (metadata["namespace"]) {
      pod.nameSpace = plainWord(metadata["namespace"], "metadata.namespace");
    }
    if (metadata["uid"]) pod.uid = plainWord(metadata["uid"], "metadata.uid");
  }

  /// A word that can stand in a command and before or after a slash.
  std::string plainWord(const YAML::Node& node, const std::string& key) {
    const std::string text = yaml_.text(node, key);
    if (text.find_first_of(" \t\n/") != std::string::npos) {
      yaml_.refuse(node, key + " has a blank or a slash in it");
    }
    return text;
  }

  void spec(const YAML::Node& node, PodSpec& pod) {
    const YAML::Node spec = node["spec"];
    if (!spec) return yaml_.refuse(node, "spec is missing");
    if (!yaml_.isMapping(spec,
                         {"initContainers", "containers", "resourceClaims", "restartPolicy",
                          "nodeName", "terminationGracePeriodSeconds", "securityContext"},
                         "spec")) {
      return;
    }
    yaml_.forEach(spec["resourceClaims"], "resourceClaims",
                  [&](const YAML::Node& each) { podClaim(each, pod); });
    std::set<std::string> names;
    yaml_.forEach(spec["initContainers"], "initContainers", [&](const YAML::Node& each) {
      pod.initContainers.push_back(container(each, true, names));
    });
    yaml_.forEach(spec["containers"], "containers", [&](const YAML::Node& each) {
      pod.containers.push_back(container(each, false, names));
    });
    if (pod.containers.empty()) yaml_.refuse(spec, "spec.containers has no container");
  }

  void podClaim(const YAML::Node& node, PodSpec& pod) {
    if (!yaml_.isMapping(node, {"name", "resourceClaimName"}, "a pod's claim")) return;
    pod.claims.push_back(
        {.name = needed(node, "name"), .claim = needed(node, "resourceClaimName")});
  }

  ContainerSpec container(const YAML::Node& node, bool init, std::set<std::string>& names) {
    ContainerSpec container;
    if (!yaml_.isMapping(node,
                         {"name", "resources", "restartPolicy", "image", "imagePullPolicy",
                          "command", "args", "env", "securityContext"},
                         "a container")) {
      return container;
    }
    if (!node["name"]) {
      yaml_.refuse(node, "a container must have a name");
      return container;
    }
    container.name = plainWord(node["name"], "name");
    if (!names.insert(container.name).second) {
      yaml_.refuse(node["name"], "two containers have the name " + container.name);
    }
    if (node["restartPolicy"]) {
      if (!init) yaml_.refuse(node["restartPolicy"], "only init containers have a restartPolicy");
      container.sidecar = yaml_.oneOf(node["restartPolicy"], "restartPolicy", {"Always"}) == 0;
    }
    if (node["resources"]) limits(node["resources"], container);
    return container;
  }

  void limits(const YAML::Node& resources, ContainerSpec& container) {
    if (!yaml_.isMapping(resources, {"limits", "requests", "claims"}, "resources")) return;
    yaml_.forEach(resources["claims"], "claims", [&](const YAML::Node& each) {
      if (!yaml_.isMapping(each, {"name", "request"}, "a container's claim")) return;
      container.claims.push_back({.name = needed(each, "name")});
      whenThere(each, "request", [&](const YAML::Node& request) {
        container.claims.back().request = yaml_.text(request, "request");
      });
    });
    for (const char* key : {"limits", "requests"}) {
      const YAML::Node list = resources[key];
      if (!list) continue;
      if (!list.IsMap()) return yaml_.refuse(list, std::string(key) + " must be a mapping");
      for (const auto& entry : list) limit(entry.first, entry.second, key, container);
    }
  }

  void limit(const YAML::Node& key, const YAML::Node& value, const std::string& list,
             ContainerSpec& container) {
    const std::string name = yaml_.text(key, "a resource");
    static const std::set<std::string> kOther{"cpu", "memory", "ephemeral-storage"};
    if (kOther.contains(name) || name.starts_with("hugepages-")) return;
    if (!ResourceName::parse(name)) {
      return yaml_.refuse(key, "\"" + name + "\" is no extended resource, as vendor.com/name is");
    }
    const std::size_t count = yaml_.number(value, name, kMostDevices);
    const auto known = container.limits.find(name);
    if (list == "limits") {
      container.limits[name] = count;
    } else if (known == container.limits.end() || known->second != count) {
      yaml_.refuse(key, "what is requested of " + name + " must be its limit");
    }
  }

  YamlReader yaml_;
};

}  // namespace

Result<Manifest, ManifestError> parseManifest(const std::string& yaml) {
  Manifest manifest;
  try {
    for (const YAML::Node& document : YAML::LoadAll(yaml)) {
      if (document.IsNull()) continue;  // between two separators
      ManifestReader reader;
      reader.document(document, manifest);
      if (reader.error()) return Failure{ManifestError{reader.error()->line, reader.error()->why}};
    }
  } catch (const YAML::Exception& broken) {
    // The library reports text that is no YAML by exception only.
    return Failure{ManifestError{broken.mark.line + 1, broken.msg}};
  }
  if (manifest.pods.empty() && manifest.claims.empty()) {
    return Failure{ManifestError{0, "no pod in it"}};
  }
  return manifest;
}

}  // namespace vfiogate::sim
