// Whatever the kubelet lists of pods: reading ends, names no pod that it does not name, and the
// ledger allocates nothing less for it than before to whoever holds it.

#include "plugind/kubelet/calls_to_kubelet.h"
#include "proto/podresources.pb.h"
#include "tests/fuzz/kubelet_node.h"

namespace vfiogate {
namespace {

void readList(const v1::ListPodResourcesResponse& answer) {
  const PodList list = podListOf(answer);
  require(list.pods.size() <= static_cast<std::size_t>(answer.pod_resources_size()));
  for (const ListedDevices& devices : list.devices) {
    require(list.pods.contains(devices.podNamespace + "/" + devices.podName));
  }
  const auto node = kubeletNode();
  require(node->allocate("gpu", {"0000:02:00.0"}) == "granted");
  node->list = list;
  node->run(node->ledger.listRead(list, node->now.instant, node->now));
  node->pass(std::chrono::seconds(1));
  // A list alone proves nobody away.
  require(node->holding("0000:02:00.0") != Holding::kFree);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  v1::ListPodResourcesResponse answer;
  if (answer.ParseFromArray(data, static_cast<int>(size))) vfiogate::readList(answer);
  return 0;
}
