#include "plugind/kubelet/list_watch_stream.h"

namespace vfiogate {

std::shared_ptr<const FrameMessage> toMessage(const Frame& frame) {
  auto made = std::make_shared<FrameMessage>();
  made->frame = frame;
  for (const FrameDevice& device : frame.devices) {
    v1beta1::Device& entry = *made->message.add_devices();
    entry.set_id(device.id);
    entry.set_health(device.healthy ? "Healthy" : "Unhealthy");
    if (device.numaNode) entry.mutable_topology()->add_nodes()->set_id(*device.numaNode);
  }
  return made;
}

v1beta1::AllocateResponse toMessage(const AllocationResponse& response) {
  v1beta1::AllocateResponse message;
  v1beta1::ContainerAllocateResponse& container = *message.add_container_responses();
  container.mutable_envs()->insert(response.environment.begin(), response.environment.end());
  container.mutable_annotations()->insert(response.annotations.begin(), response.annotations.end());
  for (const std::string& node : response.nodes) {
    v1beta1::DeviceSpec& device = *container.add_devices();
    device.set_container_path(node);
    device.set_host_path(node);
    device.set_permissions("mrw");
  }
  for (const std::string& name : response.cdiDevices) {
    container.add_cdi_devices()->set_name(name);
  }
  for (const Mount& mount : response.mounts) {
    v1beta1::Mount& made = *container.add_mounts();
    made.set_host_path(mount.host);
    made.set_container_path(mount.container);
  }
  return message;
}

}  // namespace vfiogate
