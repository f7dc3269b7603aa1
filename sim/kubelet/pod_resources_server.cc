#include "sim/kubelet/pod_resources_server.h"

#include <algorithm>
#include <filesystem>

namespace vfiogate::sim {
namespace {

const std::string& nameOf(const PodSpec& pod) {
  return pod.name.empty() ? pod.uid : pod.name;
}

grpc::Status tooOften() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
}

/// One entry for each id and node; `add` makes an empty one.
template <typename Add>
void describe(const std::string& resource, const std::string& id, const std::vector<long>& nodes,
              Add add) {
  for (const long node : nodes) {
    v1::ContainerDevices* devices = add();
    devices->set_resource_name(resource);
    devices->add_device_ids(id);
    if (node >= 0) devices->mutable_topology()->add_nodes()->set_id(node);
  }
}

/// All devices of a claim, whatever the container asked for. Within one driver the names
/// accumulate, as those of the real one do.
void describe(const ClaimRecord& claim, v1::DynamicResource& described) {
  described.set_claim_name(claim.name);
  described.set_claim_namespace(claim.nameSpace);
  for (const auto& [driver, devices] : claim.drivers) {
    std::vector<std::string> names;
    for (const ClaimDevice& device : devices) {
      names.insert(names.end(), device.cdiDevices.begin(), device.cdiDevices.end());
      v1::ClaimResource* resource = described.add_claim_resources();
      for (const std::string& name : names) resource->add_cdi_devices()->set_name(name);
      resource->set_driver_name(driver);
      resource->set_pool_name(device.pool);
      resource->set_device_name(device.device);
      if (device.shareId) resource->set_share_id(*device.shareId);
    }
  }
}

/// What the kubelet remembers of devices and of claims.
struct Remembered {
  const std::vector<CheckpointEntry>& recorded;
  std::vector<ClaimRecord> claims;
};

void describeClaims(const std::vector<ClaimRecord>& claims, const PodSpec& pod,
                    const ContainerSpec& container, v1::ContainerResources& resources) {
  for (const PodClaim& claim : pod.claims) {
    const bool used = std::ranges::any_of(
        container.claims, [&](const ContainerClaim& one) { return one.name == claim.name; });
    for (const ClaimRecord& record : claims) {
      if (!used || record.name != claim.claim || record.nameSpace != pod.nameSpace) continue;
      describe(record, *resources.add_dynamic_resources());
    }
  }
}

void describe(const Remembered& remembered, const PodSpec& pod, const ContainerSpec& container,
              v1::PodResources& described) {
  v1::ContainerResources* resources = described.add_containers();
  resources->set_name(container.name);
  describeClaims(remembered.claims, pod, container, *resources);
  for (const CheckpointEntry& entry : remembered.recorded) {
    if (entry.podUid != pod.uid || entry.container != container.name) continue;
    for (const auto& [node, ids] : entry.devices) {
      for (const std::string& id : ids) {
        describe(entry.resource, id, {node}, [&]() { return resources->add_devices(); });
      }
    }
  }
}

void describe(const Remembered& remembered, const PodSpec& pod, v1::PodResources& described) {
  described.set_name(nameOf(pod));
  described.set_namespace_(pod.nameSpace);
  for (const ContainerSpec& container : pod.initContainers) {
    if (container.sidecar) describe(remembered, pod, container, described);
  }
  for (const ContainerSpec& container : pod.containers) {
    describe(remembered, pod, container, described);
  }
}

}  // namespace

KubeletSim::PodResourcesServer::PodResourcesServer(State& state, const std::string& directory)
    : state_(state),
      limit_(state.options.callsASecond, state.options.callsAtOnce, state.options.now()),
      old_(state, limit_) {
  namespace fs = std::filesystem;
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  builder.RegisterService(&old_);
  server_ = builder.BuildAndStart();
  if (fs::create_directories(directory)) {
    fs::permissions(directory,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  }
  fs::remove(directory + "/kubelet.sock");
  fs::remove(directory + "/.kubelet.sock.new");
  socket_ = std::make_unique<LastingSocket>(directory + "/.kubelet.sock.new", *server_);
  fs::rename(directory + "/.kubelet.sock.new", directory + "/kubelet.sock");
}

KubeletSim::PodResourcesServer::~PodResourcesServer() {
  socket_.reset();  // nobody new
  server_->Shutdown(std::chrono::system_clock::now());
}

grpc::Status KubeletSim::PodResourcesServer::List(grpc::ServerContext* /*context*/,
                                                  const v1::ListPodResourcesRequest* /*request*/,
                                                  v1::ListPodResourcesResponse* response) {
  const std::lock_guard lock(state_.mutex);
  if (!limit_.allow(state_.options.now())) return tooOften();
  state_.freeInactive();
  const Remembered remembered{state_.recorded, state_.claimRecords()};
  for (const auto& [uid, pod] : state_.pods) {
    if (!state_.isActive(uid) || state_.concealsPods) continue;
    describe(remembered, pod.spec, *response->add_pod_resources());
  }
  return grpc::Status::OK;
}

grpc::Status KubeletSim::OldPodResourcesServer::List(
    grpc::ServerContext* /*context*/, const v1alpha1::ListPodResourcesRequest* /*request*/,
    v1alpha1::ListPodResourcesResponse* response) {
  const std::lock_guard lock(state_.mutex);
  if (!limit_.allow(state_.options.now())) return tooOften();
  state_.freeInactive();
  for (const auto& [uid, pod] : state_.pods) {
    if (!pod.added || pod.deleted || state_.concealsPods) continue;
    v1alpha1::PodResources* described = response->add_pod_resources();
    described->set_name(nameOf(pod.spec));
    described->set_namespace_(pod.spec.nameSpace);
    for (const ContainerSpec& container : pod.spec.containers) {
      v1alpha1::ContainerResources* resources = described->add_containers();
      resources->set_name(container.name);
      for (const CheckpointEntry& entry : state_.recorded) {
        if (entry.podUid != uid || entry.container != container.name) continue;
        v1alpha1::ContainerDevices* devices = resources->add_devices();
        devices->set_resource_name(entry.resource);
        for (const std::string& id : idsOf(entry)) devices->add_device_ids(id);
      }
    }
  }
  return grpc::Status::OK;
}

grpc::Status KubeletSim::PodResourcesServer::GetAllocatableResources(
    grpc::ServerContext* /*context*/, const v1::AllocatableResourcesRequest* /*request*/,
    v1::AllocatableResourcesResponse* response) {
  const std::lock_guard lock(state_.mutex);
  if (!limit_.allow(state_.options.now())) return tooOften();
  for (const auto& [name, resource] : state_.resources) {
    for (const std::string& id : resource.devices.healthy()) {
      describe(name, id, resource.devices.nodesOf(id), [&]() { return response->add_devices(); });
    }
  }
  return grpc::Status::OK;
}

grpc::Status KubeletSim::PodResourcesServer::Get(grpc::ServerContext* /*context*/,
                                                 const v1::GetPodResourcesRequest* request,
                                                 v1::GetPodResourcesResponse* response) {
  const std::lock_guard lock(state_.mutex);
  if (!limit_.allow(state_.options.now())) return tooOften();
  for (const auto& [uid, pod] : state_.pods) {
    if (!state_.isActive(uid) || nameOf(pod.spec) != request->pod_name() ||
        pod.spec.nameSpace != request->pod_namespace()) {
      continue;
    }
    describe({state_.recorded, state_.claimRecords()}, pod.spec,
             *response->mutable_pod_resources());
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::UNKNOWN, "pod " + request->pod_name() + " in namespace " +
                                         request->pod_namespace() + " not found"};
}

}  // namespace vfiogate::sim
