#include "privd/bind/binding.h"

#include "privd/audit/audit_log.h"
#include "privd/base/log_line.h"
#include "privd/bind/change_run.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kBusyPause = 1 * kj::SECONDS;

void tellUnlisted(const StateFailure& failure) {
  logLine(LogEvent::kStateProblem, {{"file", kj::str(failure.str().c_str())}});
}

}  // namespace

Binding::Binding(const Place& place, BindingDeps parts, const BindingOptions& options,
                 ForkServer server)
    : place_(place),
      deps_(kj::mv(parts)),
      writer_(place.port, place.timer, kj::mv(server),
              [this](kj::StringPtr name, const WriteOutcome& outcome) { lateEnd(name, outcome); }),
      binder_({.sysfs = place.sysfs,
               .dev = place.dev,
               .allocations = place.allocations,
               .lease = place.lease,
               .state = deps_.state,
               .audit = auditOf(deps_),
               .auditTrouble = deps_.auditTrouble,
               .writer = writer_,
               .timer = place.timer,
               .settings = guardSettingsOf(options),
               .host = hostFilesOf(options),
               .aliases = std::move(deps_.aliases),
               .bootId = deps_.bootId,
               .changed = [this](const std::set<IommuGroupId>& groups) { changed(groups); }}),
      allocations_(binder_, deps_.state, auditOf(deps_), place.timer, place.plugindUid) {}

AuditLog* Binding::auditOf(BindingDeps& parts) {
  KJ_IF_MAYBE (log, parts.audit) return log;
  return nullptr;
}

GroupBinding Binding::bindingOf(const Snapshot& snapshot, const IommuGroup& group) {
  GroupBinding binding{.busy = binder_.busy(group.id)};
  bool toBind = false;
  for (const Bdf& member : group.members) {
    const auto device = snapshot.devices.find(member);
    if (device == snapshot.devices.end()) continue;
    const auto record = deps_.state.boundAt(member);
    binding.excluded = binding.excluded || deps_.state.isExcluded(member);
    binding.stuck = binding.stuck || binder_.stuck(member);
    binding.boundForAllocation = binding.boundForAllocation ||
                                 (record && record->purpose == BoundFor::kAllocation &&
                                  record->bootId == deps_.bootId && offersVfio(device->second));
    toBind = toBind || (!standsAside(device->second) && !offersVfio(device->second) &&
                        !device->second.vgpuType);
  }
  // Asked last, and only where the answer is wanted: it opens disks.
  const bool wanted =
      place_.allocates && toBind && !binding.busy && !binding.stuck && !binding.excluded;
  if (wanted) assessFor(snapshot, group, binding);
  tellBar(group.id, binding.bar);
  return binding;
}

/// Under the locks of the group: whoever changes its drivers meanwhile, in whatever process, keeps
/// its attributes, and opens its disks, too.
void Binding::assessFor(const Snapshot& snapshot, const IommuGroup& group, GroupBinding& binding) {
  const auto locks = place_.allocations.lock({group.members.begin(), group.members.end()});
  if (!locks) {
    busyElsewhere_.insert(group.id);
    binding.busy = locks.error() == EWOULDBLOCK;
    if (!binding.busy) {
      binding.bar = std::string(nameOf(Guard::kMember)) + ": " + group.members.front().str() +
                    ": " + notLocked(locks.error());
    }
    return;
  }
  binding.bar = binder_.barToAllocation(group, snapshot);
  binding.bindable = binding.bar.empty();
}

/// Another guard is told, not each change of what it sees. What no policy allows is no news.
void Binding::tellBar(IommuGroupId group, const std::string& bar) {
  std::string guard = bar.substr(0, bar.find(':'));
  if (guard.empty() || guard == nameOf(Guard::kPolicy)) {
    toldBars_.erase(group);
    return;
  }
  std::string& told = toldBars_[group];
  if (told == guard) return;
  told = std::move(guard);
  logLine(LogEvent::kNotBindable, {{"group", kj::str(group.number())},
                                   {"guard", kj::str(told.c_str())},
                                   {"why", kj::str(bar.c_str())}});
}

void Binding::serve(HostView& view, std::vector<Selector> declared, std::vector<WantedVfs> vfs,
                    NameWatch& holds) {
  view_ = view;
  tellLeftovers(*view.current().snapshot);
  tellExclusions();
  declared_.emplace(binder_, view, place_.timer, deps_.state, std::move(declared), std::move(vfs));
  tasks_ = watchHolds(holds, 0).exclusiveJoin(rereadBusy()).eagerlyEvaluate(nullptr);
}

void Binding::leave() {
  tasks_ = nullptr;
  declared_ = nullptr;
  view_ = nullptr;
}

/// A command excludes devices and releases them by the files alone.
kj::Promise<void> Binding::watchHolds(NameWatch& holds, std::uint64_t seen) {
  return holds.next(seen).then([this, &holds](std::uint64_t count) {
    std::set<IommuGroupId> others;
    KJ_IF_MAYBE (view, view_) {
      for (const auto& [id, group] : view->current().snapshot->groups) {
        const auto isExcluded = [this](const Bdf& each) { return deps_.state.isExcluded(each); };
        if (std::ranges::any_of(group.members, isExcluded) != group.binding.excluded) {
          others.insert(id);
        }
      }
    }
    if (!others.empty()) changed(others);
    tellExclusions();
    return watchHolds(holds, count);
  });
}

/// No event says that another process has given its locks back, or that they can be had again.
kj::Promise<void> Binding::rereadBusy() {
  return place_.timer.afterDelay(kBusyPause).then([this]() {
    if (!busyElsewhere_.empty()) changed(std::exchange(busyElsewhere_, {}));
    return rereadBusy();
  });
}

kj::Promise<void> Binding::tellHeads() {
  KJ_IF_MAYBE (log, deps_.audit) return vfiogate::tellHeads(*log, place_.timer);
  logLine(LogEvent::kAuditFailed, {{"error", kj::str(deps_.auditTrouble.c_str())}});
  return kj::NEVER_DONE;
}

void Binding::tellLeftovers(const Snapshot& snapshot) const {
  for (const std::string& problem : deps_.state.problems()) {
    logLine(LogEvent::kStateProblem, {{"file", kj::str(problem.c_str())}});
  }
  const auto bound = deps_.state.bound();
  if (!bound) return tellUnlisted(bound.error());
  for (const BoundDevice& record : *bound) {
    const auto device = snapshot.devices.find(record.device.address);
    const bool ours = record.bootId == deps_.bootId && device != snapshot.devices.end();
    if (!ours || !device->second.driver.empty()) continue;
    logLine(LogEvent::kBindingUnfinished,
            {{"device", kj::str(record.device.address.str().c_str())}});
  }
}

void Binding::tellExclusions() {
  auto exclusions = deps_.state.exclusions();
  if (!exclusions) return tellUnlisted(exclusions.error());
  if (*exclusions == toldExclusions_) return;
  toldExclusions_ = std::move(exclusions).value();
  logLine(LogEvent::kExclusions,
          {{"devices", kj::str(toldExclusions_.size())}, {"role", kj::str("binder")}});
}

void Binding::changed(const std::set<IommuGroupId>& groups) {
  KJ_IF_MAYBE (view, view_) view->rereadNow(groups);
}

void Binding::lateEnd(kj::StringPtr name, const WriteOutcome& outcome) {
  const auto address = Bdf::parse(name.cStr());
  if (!address) return;
  binder_.ended(*address);
  KJ_IF_MAYBE (log, deps_.audit) {
    const auto noted =
        log->append(AuditNote{{.role = "privd"},
                              "late-end",
                              {*address},
                              "a write that was stuck came back: " + wordsOf(outcome)});
    if (!noted) tellFailure(noted.error());
  }
  if (const auto groups = binder_.groupsOf({*address})) changed(*groups);
}

}  // namespace vfiogate
