#include "privd/scan/snapshot_source.h"

#include "privd/base/log_line.h"
#include "privd/scan/sysfs_root.h"

#include <kj/debug.h>

#include <cstring>

namespace vfiogate {
namespace {

/// Read between two turns of the loop, for which a hint has to wait: well below a millisecond's
/// worth on an idle machine.
constexpr std::size_t kPart = 8;
constexpr std::size_t kGlancePart = 32;

Places everythingIn(const SysfsRoot& sysfs) {
  auto places = placesOf(sysfs);
  KJ_REQUIRE(places.has_value(), "sysfs cannot be listed", strerror(places.error().error));
  Places everything = kj::mv(places).value();
  everything.mediated = mediatedIn(sysfs);
  return everything;
}

}  // namespace

ScanDeps scanDeps(const SysfsRoot& sysfs, const DevRoot& dev) {
  // Read once a sweep, which hints bring about, too: slots come and go with their ports.
  auto slots = std::make_shared<SlotNames>();
  return {.everything =
              [&sysfs, slots]() {
                *slots = readSlots(sysfs);
                return everythingIn(sysfs);
              },
          .names = [&sysfs]() { return everythingIn(sysfs); },
          .glance = [&sysfs](const PciDevice& was) { return glanceAt(sysfs, was); },
          .reread = [&sysfs, &dev, slots](
                        const Places& where,
                        Snapshot& seen) { return rereadUnits(sysfs, dev, where, seen, *slots); }};
}

SnapshotSource::SnapshotSource(kj::Timer& timer, std::uint64_t epoch, Rescan rescan, ScanDeps deps,
                               DiscoveryCounts& counts)
    : timer_(timer),
      epoch_(epoch),
      betweenGlances_(rescan.glance),
      deps_(kj::mv(deps)),
      sweepPace_(rescan.sweep, timer.now()),
      glanceDue_(timer.now() + rescan.glance),
      counts_(counts),
      tasks_(*this) {
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 deps_.reread(deps_.everything(), seen_);
                 publish();
               })) {
    taskFailed(kj::mv(*exception));
  }
  tasks_.add(run());
}

kj::Promise<SnapshotSource::Current> SnapshotSource::next(std::uint64_t seen) {
  if (generation_ > seen) return current();
  return broadcast_.next().then([this]() { return current(); });
}

void SnapshotSource::hint(const Places& where) {
  const kj::TimePoint before = due();
  if (where.empty()) {
    sweepPace_.anywhere(timer_.now());
  } else {
    hinted_.add(where);
    rereadPace_.hinted(timer_.now());
    sweepPace_.hinted(timer_.now());
  }
  if (due() < before) sooner_.notify();
}

kj::TimePoint SnapshotSource::due() const {
  if (sweep_ != nullptr || !toGlanceAt_.empty()) return timer_.now();
  kj::TimePoint due = kj::min(sweepPace_.due(), glanceDue_);
  KJ_IF_MAYBE (when, rereadPace_.due()) due = kj::min(due, *when);
  return due;
}

kj::Promise<void> SnapshotSource::run() {
  return timer_.atTime(due()).exclusiveJoin(sooner_.next()).then([this]() {
    KJ_IF_MAYBE (exception, kj::runCatchingExceptions([this]() { act(); })) {
      taskFailed(kj::mv(*exception));  // what was seen last stands
    }
    return run();
  });
}

void SnapshotSource::act() {
  const kj::TimePoint now = timer_.now();
  KJ_IF_MAYBE (when, rereadPace_.due()) {
    if (*when <= now) {
      rereadPace_.wasRead(now);
      ++counts_[DiscoveryCount::kRereads];
      reread(std::exchange(hinted_, Places{}));
      return;
    }
  }
  KJ_IF_MAYBE (sweep, sweep_) return goOn(*sweep);
  if (sweepPace_.due() <= now) return beginSweep();
  if (!toGlanceAt_.empty()) return glance();
  if (glanceDue_ <= now) beginGlance();
}

kj::Maybe<Places> SnapshotSource::listed(kj::Function<Places()>& places) {
  kj::Maybe<Places> all;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() { all = places(); })) {
    ++counts_[DiscoveryCount::kFailedSweeps];
    taskFailed(kj::mv(*exception));
  }
  return all;
}

void SnapshotSource::beginSweep() {
  sweepPace_.began();
  toGlanceAt_.clear();
  // Should listing fail, the next one is not due before a hint or the timer.
  endSweep(0 * kj::NANOSECONDS);
  KJ_IF_MAYBE (everything, listed(deps_.everything)) {
    everything->add(placesOf(seen_));
    Sweep sweep;
    sweep.devices.assign(everything->devices.begin(), everything->devices.end());
    sweep.mediated.assign(everything->mediated.begin(), everything->mediated.end());
    sweep.groups = std::move(everything->groups);
    sweep_ = kj::mv(sweep);
  }
}

void SnapshotSource::endSweep(kj::Duration spent) {
  sweepPace_.ended(timer_.now(), spent);
  glanceDue_ = timer_.now() + betweenGlances_;
  sweep_ = nullptr;
}

void SnapshotSource::beginGlance() {
  glanceDue_ = timer_.now() + betweenGlances_;
  KJ_IF_MAYBE (names, listed(deps_.names)) {
    if (*names != placesOf(seen_)) return sweepPace_.anywhere(timer_.now());
    toGlanceAt_.assign(names->devices.begin(), names->devices.end());
  }
}

void SnapshotSource::glance() {
  Places differing;
  for (std::size_t seen = 0; seen < kGlancePart && !toGlanceAt_.empty(); ++seen) {
    const auto known = seen_.devices.find(toGlanceAt_.back());
    toGlanceAt_.pop_back();
    if (known == seen_.devices.end()) continue;  // it left meanwhile
    const Glance told = deps_.glance(known->second);
    if (told != Glance::kSame) differing.devices.insert(known->first);
    if (told == Glance::kUnheard) sweepPace_.anywhere(timer_.now());
  }
  if (!differing.empty()) reread(differing);
}

void SnapshotSource::goOn(Sweep& sweep) {
  const auto began = kj::systemPreciseMonotonicClock().now();
  Places part;
  const std::size_t functions = sweep.devices.size();
  const std::size_t all = functions + sweep.mediated.size();
  for (; part.size() < kPart && sweep.next < all; ++sweep.next) {
    if (sweep.next < functions) {
      part.devices.insert(sweep.devices[sweep.next]);
    } else {
      part.mediated.insert(sweep.mediated[sweep.next - functions]);
    }
  }
  if (part.empty()) {
    // A group is looked at with its devices; left are those without any.
    for (const auto& [address, device] : seen_.devices) {
      if (device.group) sweep.groups.erase(*device.group);
    }
    for (const auto& [uuid, device] : seen_.mediated) {
      if (device.group) sweep.groups.erase(*device.group);
    }
    part.groups = std::exchange(sweep.groups, {});
  }
  reread(part);
  sweep.spent += kj::systemPreciseMonotonicClock().now() - began;
  if (sweep.next < all || !sweep.groups.empty()) return;
  ++counts_[DiscoveryCount::kSweeps];
  counts_[DiscoveryCount::kSweepNanoseconds] +=
      static_cast<std::uint64_t>(sweep.spent / kj::NANOSECONDS);
  endSweep(sweep.spent);
}

void SnapshotSource::rereadNow(const Places& where) {
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() { reread(where); })) {
    taskFailed(kj::mv(*exception));
  }
}

void SnapshotSource::reread(const Places& where) {
  if (!deps_.reread(where, seen_)) return;
  publish();
  broadcast_.notify();
}

void SnapshotSource::publish() {
  snapshot_ = std::make_shared<const Snapshot>(seen_);
  ++generation_;
}

void SnapshotSource::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kScanFailed,
          {{"role", kj::str("hardware")}, {"error", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
