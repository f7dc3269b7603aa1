#include "plugind/kubelet/advertised_resources.h"

#include "plugind/base/log_line.h"

#include <algorithm>
#include <utility>

namespace vfiogate {

AdvertisedResource* AdvertisedResources::find(const ResourceName& name) const {
  const auto found = resources_.find(name);
  return found == resources_.end() ? nullptr : found->second.get();
}

AdvertisedResource& AdvertisedResources::start(const ResourceName& name) {
  logInfo(LogEvent::kResourceStarted, {{"resource", name.str()}});
  auto resource = std::make_unique<AdvertisedResource>(name, events_, sockets_, loop_, kubeletUid_);
  resource->registrar().start();
  return *resources_.emplace(name, std::move(resource)).first->second;
}

void AdvertisedResources::end(const ResourceName& name) {
  logInfo(LogEvent::kResourceEnded, {{"resource", name.str()}, {"why", "emptyResourceAfter"}});
  auto gone = kj::evalLater([ended = resources_.extract(name)]() mutable { ended = {}; });
  ending_ = kj::joinPromises(kj::arr(kj::mv(ending_), kj::mv(gone))).eagerlyEvaluate(nullptr);
}

void AdvertisedResources::wantPreStart(const std::function<bool(const ResourceName&)>& wants) {
  for (auto& [name, resource] : resources_) resource->wantPreStart(wants(name));
}

void AdvertisedResources::kubeletCame() {
  logInfo(LogEvent::kKubeletAppeared, {{"resources", resources_.size()}});
  for (auto& [name, resource] : resources_) resource->registrar().kubeletCame();
}

void AdvertisedResources::socketsCame() {
  for (auto& [name, resource] : resources_) resource->registrar().socketsCame();
}

bool AdvertisedResources::resend() {
  return std::ranges::any_of(resources_, [](auto& entry) { return entry.second->resend(); });
}

std::map<ResourceName, ResourceFacts> AdvertisedResources::facts() const {
  std::map<ResourceName, ResourceFacts> facts;
  for (const auto& [name, resource] : resources_) facts.emplace(name, resource->facts());
  return facts;
}

}  // namespace vfiogate
