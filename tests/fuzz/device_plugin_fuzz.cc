// Whatever requests the kubelet sends a device plugin: each is answered, refused in words or waits,
// and what is granted are devices of the resource, each group to one container.
//
// The input is a sequence of calls: a byte that says which, one that says how long, the request.

#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/kubelet/device_plugin_service.h"
#include "tests/fuzz/kubelet_node.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

class Plugin final : public PluginEvents {
public:
  void take(std::uint8_t kind, std::string_view bytes) {
    if (kind % 3 == 0) call(bytes, "Allocate");
    if (kind % 3 == 1) call(bytes, "GetPreferredAllocation");
    if (kind % 3 == 2) call(bytes, "PreStartContainer");
  }

  void streamOpened(const ResourceName&, std::shared_ptr<ListWatchStream>) override {}
  void streamEnded(const ResourceName&, const ListWatchStream&) override {}
  void callCancelled(const std::shared_ptr<KubeletCall>&) override {}

  void allocateAsked(const ResourceName&, std::shared_ptr<AllocateCall> call) override {
    const CallId id = node_->ask("gpu", call->ids());
    if (node_->outcome(id) != "granted") return check(id);
    for (const std::string& device : call->ids()) {
      require(node_->holding(device) != Holding::kFree);
      granted_.insert(device);
    }
    require(granted_.size() <= 3 && call->claim());
    call->grant(*node_->answers.at(id).response);
  }

  void preferenceAsked(const ResourceName&, std::shared_ptr<PreferCall> call) override {
    std::vector<std::vector<std::string>> answers;
    for (const PreferredRequest& request : call->takeRequests()) {
      std::set<std::string> known = request.available;
      known.insert(request.mustInclude.begin(), request.mustInclude.end());
      answers.push_back(
          preferredDevices(request, {{"0000:01:00.0", {.numaNode = 0, .group = IommuGroupId(1)}}}));
      require(std::ranges::includes(known, answers.back()));
      require(answers.back().size() >= std::min(request.size, known.size()));
    }
    require(call->claim());
    call->answer(answers);
  }

  void startAsked(const ResourceName&, std::shared_ptr<StartCall> call) override {
    if (node_->preStart("gpu", call->ids()) == "done" && call->claim()) call->pass();
  }

private:
  void call(std::string_view bytes, const std::string& name) {
    const Method& method = methods_.at("/v1beta1.DevicePlugin/" + name);
    const auto request = method.request();
    if (!request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    const auto call = method.open(std::make_shared<KeptAnswer>(), *request);
    letters_.carryOut();
    if (call) call->over();
  }

  void check(CallId id) {
    const auto answer = node_->answers.find(id);
    if (answer == node_->answers.end()) return;  // it waits
    require(answer->second.refusal && isOneLine(answer->second.refusal->text));
  }

  std::unique_ptr<test::LedgerNode> node_ = kubeletNode();
  PostedLetters letters_;
  const Methods methods_ = methodsOf(
      std::make_shared<DevicePluginService>(test::resource("gpu"), *this, letters_.box()));
  std::set<std::string> granted_;
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = vfiogate::textOf(data, size);
  vfiogate::Plugin plugin;
  while (rest.size() > 2) {
    const auto length = static_cast<std::uint8_t>(rest[1]);
    plugin.take(static_cast<std::uint8_t>(rest[0]), rest.substr(2, length));
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 2U + length));
  }
  return 0;
}
