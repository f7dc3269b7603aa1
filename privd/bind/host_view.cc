#include "privd/bind/host_view.h"

#include "privd/base/log_line.h"

#include <kj/exception.h>

#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kShortestRest = 100 * kj::MILLISECONDS;
constexpr int kRestPerWork = 9;

void tellFailure(kj::StringPtr why) {
  logLine(LogEvent::kScanFailed, {{"role", kj::str("binder")}, {"error", kj::str(why)}});
}

}  // namespace

HostView::HostView(Deps deps)
    : deps_(kj::mv(deps)),
      writing_(sysfsWriting(deps_.sysfs)),
      snapshot_(std::make_shared<const Snapshot>()) {
  scanAll();
  task_ = run().eagerlyEvaluate(nullptr);
}

kj::Promise<HostView::Current> HostView::next(std::uint64_t seen) {
  if (generation_ > seen) return current();
  return changed_.next().then([this]() { return current(); });
}

void HostView::wake() {
  due_ = true;
  woken_.notify();
}

kj::Promise<void> HostView::run() {
  auto woken = due_ ? kj::Promise<void>(kj::READY_NOW) : woken_.next();
  return deps_.timer.afterDelay(deps_.rescan)
      .exclusiveJoin(kj::mv(woken))
      .then([this]() {
        due_ = false;
        const auto& clock = kj::systemPreciseMonotonicClock();
        const auto began = clock.now();
        scanAll();
        return deps_.timer.afterDelay(kj::max(kShortestRest, (clock.now() - began) * kRestPerWork));
      })
      .then([this]() { return run(); });
}

void HostView::scanAll() {
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([this]() {
                 auto scanned = scan(deps_.sysfs, deps_.dev);
                 // What was seen last stands.
                 if (!scanned) return tellFailure(strerror(scanned.error().error));
                 Snapshot seen = std::move(scanned).value();
                 for (const auto& [id, group] : seen.groups) readBinding(seen, id);
                 publish(std::move(seen));
               })) {
    tellFailure(exception->getDescription());
  }
}

void HostView::rereadNow(const std::set<IommuGroupId>& groups) {
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() { rereadGroups(groups); })) {
    tellFailure(exception->getDescription());
  }
}

void HostView::rereadGroups(const std::set<IommuGroupId>& groups) {
  // A reread of a group reads its list of members; their drivers are read by address.
  Places where{.devices = {}, .groups = groups};
  for (const IommuGroupId& id : groups) {
    const auto group = snapshot_->groups.find(id);
    if (group == snapshot_->groups.end()) continue;
    where.devices.insert(group->second.members.begin(), group->second.members.end());
  }
  Snapshot seen = *snapshot_;
  reread(deps_.sysfs, deps_.dev, where, seen);
  for (const auto& [id, group] : seen.groups) {
    const auto before = snapshot_->groups.find(id);
    // Another one is read with them where a device has changed groups.
    const bool wasRead = before == snapshot_->groups.end() || before->second != group;
    if (wasRead || groups.contains(id)) readBinding(seen, id);
  }
  publish(std::move(seen));
}

void HostView::readBinding(Snapshot& seen, const IommuGroupId& group) {
  const auto found = seen.groups.find(group);
  if (found != seen.groups.end()) found->second.binding = deps_.binding(seen, found->second);
}

void HostView::publish(Snapshot seen) {
  seen.sysfsWriting = writing_;
  if (generation_ != 0 && seen == *snapshot_) return;
  snapshot_ = std::make_shared<const Snapshot>(std::move(seen));
  ++generation_;
  changed_.notify();
}

}  // namespace vfiogate
