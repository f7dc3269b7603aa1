#include "plugind/kubelet/advertised_resource.h"

#include "plugind/base/log_line.h"

#include <algorithm>
#include <utility>

namespace vfiogate {

AdvertisedResource::AdvertisedResource(ResourceName name, PluginEvents& events,
                                       KubeletSockets& sockets, const LoopDeps& loop,
                                       uid_t kubeletUid)
    : name_(std::move(name)),
      current_(toMessage(Frame{})),
      server_(name_, events, loop, kubeletUid),
      registrar_(name_, sockets, server_, loop) {}

void AdvertisedResource::show(const Frame& frame) {
  if (frame == current_->frame) return;
  current_ = toMessage(frame);
  const auto healthy = std::ranges::count_if(frame.devices, &FrameDevice::healthy);
  logInfo(LogEvent::kFrameShown, {{"resource", name_.str()},
                                  {"devices", frame.devices.size()},
                                  {"healthy", healthy},
                                  {"streams", streams_.size()}});
  for (const auto& stream : streams_) stream->show(current_);
  sent(streams_.size());
}

void AdvertisedResource::wantPreStart(bool wanted) {
  if (std::exchange(wantsPreStart_, wanted) == wanted) return;
  server_.wantPreStart(wanted);
  endOutdated();
}

void AdvertisedResource::endOutdated() {
  if (server_.toldPreStart() == wantsPreStart_) return;
  for (const auto& stream : streams_) stream->end(grpc::Status::OK);
}

bool AdvertisedResource::resend() {
  if (streams_.empty()) return false;
  streams_.back()->show(current_);
  sent(1);
  return true;
}

void AdvertisedResource::streamOpened(std::shared_ptr<ListWatchStream> stream) {
  logInfo(LogEvent::kStreamOpened,
          {{"resource", name_.str()}, {"devices", current_->frame.devices.size()}});
  stream->show(current_);
  sent(1);
  streams_.push_back(std::move(stream));
  registrar_.streamOpened();
  endOutdated();
}

void AdvertisedResource::streamEnded(const ListWatchStream& stream) {
  const bool newest = !streams_.empty() && streams_.back().get() == &stream;
  std::erase_if(streams_, [&stream](const auto& live) { return live.get() == &stream; });
  logInfo(LogEvent::kStreamEnded, {{"resource", name_.str()}, {"streams", streams_.size()}});
  // The end of an older one may make the kubelet drop the newest, too (kubelet-contract.md T3):
  // that one's end is then told as well.
  if (newest) registrar_.streamEnded();
}

ResourceFacts AdvertisedResource::facts() const {
  return {.state = registrar_.state(),
          .turns = registrar_.turns(),
          .trouble = registrar_.trouble(),
          .streams = streams_.size(),
          .framesSent = framesSent_,
          .lastFrame = lastFrame_};
}

void AdvertisedResource::sent(std::size_t streams) {
  if (streams == 0) return;
  framesSent_ += streams;
  lastFrame_ = std::chrono::steady_clock::now();
}

Frame AdvertisedResource::shown(const std::vector<std::string>& ids) const {
  Frame shown;
  const auto said = streams_.empty() ? nullptr : streams_.back()->said();
  if (!said) return shown;
  const auto& devices = said->frame.devices;
  for (const std::string& id : ids) {
    const auto device = std::ranges::lower_bound(devices, id, {}, &FrameDevice::id);
    if (device != devices.end() && device->id == id) shown.devices.push_back(*device);
  }
  return shown;
}

}  // namespace vfiogate
