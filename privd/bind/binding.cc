#include "privd/bind/binding.h"

#include "privd/audit/head_teller.h"
#include "privd/base/log_line.h"

#include <algorithm>

namespace vfiogate {

Binding::Binding(const Place& place, BindingParts parts, const BindingOptions& options,
                 ForkServer server)
    : place_(place),
      parts_(kj::mv(parts)),
      writer_(place.port, place.timer, kj::mv(server),
              [this](kj::StringPtr name, WriteOutcome) { lateEnd(name); }),
      binder_({.sysfs = place.sysfs,
               .dev = place.dev,
               .allocations = place.allocations,
               .lease = place.lease,
               .state = parts_.state,
               .audit = auditOf(parts_),
               .auditTrouble = parts_.auditTrouble,
               .writer = writer_,
               .timer = place.timer,
               .settings = guardSettingsOf(options),
               .host = hostFilesOf(options),
               .aliases = std::move(parts_.aliases),
               .bootId = parts_.bootId,
               .changed = [this](const std::set<IommuGroupId>& groups) { changed(groups); }}),
      operators_(binder_, parts_.state, auditOf(parts_),
                 [this](const std::set<IommuGroupId>& groups) { changed(groups); }),
      lendings_(binder_, parts_.state, auditOf(parts_), place.timer, place.plugindUid) {}

AuditLog* Binding::auditOf(BindingParts& parts) {
  KJ_IF_MAYBE (log, parts.audit) return log;
  return nullptr;
}

GroupOffice Binding::officeOf(const Snapshot& snapshot, const IommuGroup& group) {
  GroupOffice office{.busy = binder_.busy(group.id)};
  bool toBind = false;
  for (const Bdf& member : group.members) {
    const auto device = snapshot.devices.find(member);
    if (device == snapshot.devices.end()) continue;
    const BoundDevice* record = parts_.state.boundAt(member);
    office.operatorHeld = office.operatorHeld || parts_.state.holdOf(member) != nullptr;
    office.stuck = office.stuck || binder_.stuck(member);
    office.boundForLending =
        office.boundForLending || (record != nullptr && record->purpose == BoundFor::kLending &&
                                   record->bootId == parts_.bootId && offersVfio(device->second));
    toBind = toBind || (!standsAside(device->second) && !offersVfio(device->second));
  }
  // Asked last, and only where the answer is wanted: it opens disks.
  const bool wanted =
      place_.lends && toBind && !office.busy && !office.stuck && !office.operatorHeld;
  if (wanted) office.bar = binder_.barToLending(group, snapshot);
  office.bindable = wanted && office.bar.empty();
  tellBar(group.id, office.bar);
  return office;
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

void Binding::serve(SnapshotSource& source, std::vector<Selector> declared) {
  source_ = source;
  tellLeftovers(*source.current().snapshot);
  declared_.emplace(binder_, source, place_.timer, parts_.state, std::move(declared));
}

kj::Promise<void> Binding::tellHeads() {
  KJ_IF_MAYBE (log, parts_.audit) return vfiogate::tellHeads(*log, place_.timer);
  logLine(LogEvent::kAuditFailed, {{"error", kj::str(parts_.auditTrouble.c_str())}});
  return kj::NEVER_DONE;
}

void Binding::tellLeftovers(const Snapshot& snapshot) const {
  for (const std::string& problem : parts_.state.problems()) {
    logLine(LogEvent::kStateProblem, {{"file", kj::str(problem.c_str())}});
  }
  for (const BoundDevice& record : parts_.state.bound()) {
    const auto device = snapshot.devices.find(record.device.address);
    const bool ours = record.bootId == parts_.bootId && device != snapshot.devices.end();
    if (!ours || !device->second.driver.empty()) continue;
    logLine(LogEvent::kBindingUnfinished,
            {{"device", kj::str(record.device.address.str().c_str())}});
  }
}

void Binding::changed(const std::set<IommuGroupId>& groups) {
  KJ_IF_MAYBE (source, source_) {
    // A look at a group is one at its list: its members' drivers are looked at by name.
    Places where{.devices = {}, .groups = groups};
    const auto seen = source->current().snapshot;
    for (const IommuGroupId& id : groups) {
      const auto group = seen->groups.find(id);
      if (group == seen->groups.end()) continue;
      where.devices.insert(group->second.members.begin(), group->second.members.end());
    }
    source->lookNow(where);
  }
}

void Binding::lateEnd(kj::StringPtr name) {
  const auto address = Bdf::parse(name.cStr());
  if (!address) return;
  binder_.ended(*address);
  KJ_IF_MAYBE (log, parts_.audit) {
    const auto noted = log->append(
        AuditNote{{.role = "privd"}, "late-end", {*address}, "a write that was stuck came back"});
    if (!noted) tellFailure(noted.error());
  }
  if (const auto groups = binder_.groupsOf({*address})) changed(*groups);
}

}  // namespace vfiogate
