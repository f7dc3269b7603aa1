#include "tests/bench/frame_watch.h"

#include <algorithm>
#include <utility>

namespace vfiogate::bench {

void FrameWatch::heard(const v1beta1::ListAndWatchResponse& frame) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (!waiting_) return;
  seen_.at = now;
  ++seen_.frames;
  if (!showsAll(frame)) return;
  waiting_ = false;
  came_.notify_all();
}

bool FrameWatch::showsAll(const v1beta1::ListAndWatchResponse& frame) const {
  // A frame is ascending by id.
  const auto& devices = frame.devices();
  return std::ranges::all_of(ids_, [&](const std::string& id) {
    const auto found = std::ranges::lower_bound(devices, id, {}, &v1beta1::Device::id);
    return found != devices.end() && found->id() == id &&
           (found->health() == "Healthy") == healthy_;
  });
}

void FrameWatch::expect(std::vector<std::string> ids, bool healthy) {
  const std::lock_guard lock(mutex_);
  ids_ = std::move(ids);
  healthy_ = healthy;
  waiting_ = true;
  seen_ = {};
}

FrameWatch::Seen FrameWatch::await() {
  std::unique_lock lock(mutex_);
  const bool came = came_.wait_for(lock, test::kPatience, [this]() { return !waiting_; });
  if (!came) giveUp("no frame shows " + ids_.front() + " as expected");
  return seen_;
}

}  // namespace vfiogate::bench
