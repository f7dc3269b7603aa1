#include "privd/bind/binder.h"

#include "privd/audit/audit_log.h"
#include "privd/base/instance_lock.h"
#include "privd/base/log_line.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

/// Whoever only assesses a group has its locks for a moment.
constexpr auto kLockPause = 20 * kj::MILLISECONDS;
constexpr unsigned kLockTries = 50;

const char* nameOf(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kBind:
      return "bind";
    case ChangeKind::kUnbind:
      return "unbind";
    case ChangeKind::kCreateVfs:
      return "create-vfs";
  }
  return "";
}

BoundFor purposeOf(ChangeBy by) {
  switch (by) {
    case ChangeBy::kOperator:
      return BoundFor::kHand;
    case ChangeBy::kDeclaration:
      return BoundFor::kDeclaration;
    case ChangeBy::kAllocation:
      return BoundFor::kAllocation;
  }
  return BoundFor::kHand;
}

std::string firstStanding(const std::vector<Objection>& objections) {
  const auto standing =
      std::ranges::find_if(objections, [](const Objection& one) { return !one.overridden; });
  if (standing == objections.end()) return {};
  return standing->address.str() + ": " + std::string(nameOf(standing->guard)) + ": " +
         standing->reason;
}

/// "boot-vga users": short, and the same for the same refusal.
std::string guardsThatStand(const std::vector<Objection>& objections) {
  std::set<std::string_view> guards;
  for (const Objection& one : objections) {
    if (!one.overridden) guards.insert(nameOf(one.guard));
  }
  std::string text;
  for (const std::string_view guard : guards) text.append(text.empty() ? "" : " ").append(guard);
  return text;
}

kj::String addressesOf(const ChangeOrder& order) {
  std::string text;
  for (const Bdf& address : order.addresses) text += (text.empty() ? "" : " ") + address.str();
  return kj::str(text.c_str());
}

void logOverrides(const Assessment& assessment) {
  for (const Objection& objection : assessment.objections) {
    if (!objection.overridden) continue;
    logLine(LogEvent::kGuardOverridden, {{"device", kj::str(objection.address.str().c_str())},
                                         {"guard", kj::str(nameOf(objection.guard).data())},
                                         {"why", kj::str(objection.reason.c_str())}});
  }
}

AuditIntent intentOf(const ChangeRequest& request, const std::set<IommuGroupId>& groups,
                     const Assessment& assessment) {
  AuditIntent intent{.peer = request.peer, .operation = nameOf(request.order.kind)};
  if (groups.size() == 1) intent.group = groups.begin()->number();
  for (const Bdf& address : assessment.plan.changed()) {
    const auto overridden = assessment.overrides.find(address);
    intent.devices.push_back(
        {address, assessment.snapshot.devices.at(address).driver,
         overridden == assessment.overrides.end() ? std::string() : overridden->second});
  }
  for (const Step& step : assessment.plan.steps) intent.writes.push_back(step.write);
  intent.undo = assessment.plan.undoOf(assessment.plan.steps.size());
  for (const Objection& one : assessment.objections) {
    if (one.overridden) intent.overridden.push_back(one);
  }
  return intent;
}

}  // namespace

std::string notLocked(int error) {
  if (error != EWOULDBLOCK) {
    return std::string("the record of allocations cannot be locked: ") + strerror(error);
  }
  return "its drivers are being changed by another process, or a write of one has not come back";
}

ChangeReport refusal(std::string error) {
  ChangeReport report;
  report.outcome = ChangeOutcome::kRefused;
  report.error = std::move(error);
  return report;
}

/// One change from its turn to its end.
struct Binder::Change {
  ChangeRequest request;
  std::set<IommuGroupId> groups;
  DeviceLocks locks;  ///< of all members of the groups, from before the assessment to the end
  int lockError = 0;  ///< errno; EWOULDBLOCK: another process has one of them
  Assessment assessment;
  ChangeReport report;
  std::map<Bdf, std::optional<BoundDevice>> recordsBefore;
};

AssessmentDeps Binder::assessmentDeps() const {
  return {deps_.sysfs,    deps_.dev,  deps_.allocations, deps_.lease,  deps_.state,
          deps_.settings, deps_.host, deps_.aliases,     deps_.bootId, stuck_};
}

kj::Promise<ChangeReport> Binder::change(ChangeRequest request) {
  auto told = kj::newPromiseAndFulfiller<ChangeReport>();
  tasks_.add(begin(kj::mv(request))
                 .then([fulfiller = kj::mv(told.fulfiller)](ChangeReport report) mutable {
                   fulfiller->fulfill(kj::mv(report));
                 }));
  return kj::mv(told.promise);
}

kj::Promise<ChangeReport> Binder::begin(ChangeRequest request) {
  if (request.order.addresses.empty()) return refusal("no address was given");
  auto groups = groupsOf(request.order.addresses);
  if (!groups) return refusal(groups.error());
  auto change = kj::heap<Change>();
  change->request = kj::mv(request);
  change->groups = std::move(groups).value();
  auto entered = turns_.enter(change->groups);
  return entered.then([this, change = kj::mv(change)]() mutable {
    // Ends the turn however the change ends, also where nobody waits for it any more.
    auto leave = kj::defer([this, mine = change->groups]() {
      turns_.leave(mine);
      deps_.changed(mine);
    });
    Change& c = *change;
    return lock(c, kLockTries)
        .then([this, change = kj::mv(change)]() mutable { return perform(kj::mv(change)); })
        .attach(kj::mv(leave));
  });
}

/// From now on nobody else changes drivers of these groups, or allocates them; where somebody else
/// has kept a lock through all `tries`, `change` says so.
kj::Promise<void> Binder::lock(Change& change, unsigned tries) {
  std::vector<Bdf> members;
  for (const IommuGroupId& id : change.groups) {
    const auto group = readGroup(deps_.sysfs, deps_.dev, id);
    if (group) members.insert(members.end(), group->members.begin(), group->members.end());
  }
  std::ranges::sort(members);
  auto locks = deps_.allocations.lock({members.begin(), members.end()});
  change.lockError = locks ? 0 : locks.error();
  if (locks) change.locks = kj::mv(locks).value();
  if (change.lockError != EWOULDBLOCK || tries == 1) return kj::READY_NOW;
  return deps_.timer.afterDelay(kLockPause).then([this, &change, tries]() {
    return lock(change, tries - 1);
  });
}

kj::Promise<ChangeReport> Binder::perform(kj::Own<Change> change) {
  Change& c = *change;
  const ChangeOrder& order = c.request.order;
  if (c.lockError != 0) {
    // Not even looked at: where the kernel keeps another process's write, reading could hang, too.
    const std::string why = notLocked(c.lockError);
    c.report.objections.push_back({Guard::kMember, order.addresses.front(), Verdict::kBlocked, why,
                                   c.lockError == EWOULDBLOCK
                                       ? "wait for its end, or end it"
                                       : "mend what keeps it from that directory, and try again"});
    refuse(c, firstStanding(c.report.objections), guardsThatStand(c.report.objections));
    return kj::mv(c.report);
  }
  c.assessment = assess(assessmentDeps(), order, c.request.by, c.groups);
  Assessment& assessment = c.assessment;
  for (const auto& [address, device] : assessment.snapshot.devices) {
    if (!c.locks.contains(address))
      assessment.nonsense = address.str() + " joined the group meanwhile";
  }
  ChangeReport& report = c.report;
  for (const Step& step : assessment.plan.steps) report.writes.push_back(step.write);
  report.leftAlone = assessment.plan.leftAlone;
  report.remarks = assessment.plan.remarks;
  report.objections = assessment.objections;
  if (!assessment.nonsense.empty() || anyStands(assessment.objections)) {
    const bool nonsense = !assessment.nonsense.empty();
    refuse(c, nonsense ? assessment.nonsense : firstStanding(assessment.objections),
           nonsense ? "impossible" : guardsThatStand(assessment.objections));
    return kj::mv(report);
  }
  if (assessment.plan.steps.empty()) report.outcome = ChangeOutcome::kAlreadySo;
  if (order.dryRun) return kj::mv(report);
  if (assessment.plan.steps.empty()) {
    keep(c);
    return kj::mv(report);
  }
  if (auto recorded = record(c); !recorded) {
    refuse(c, recorded.error(), "record");
    return kj::mv(report);
  }
  logOverrides(assessment);
  return carryOut(deps_.sysfs, deps_.writer, c.locks, assessment.plan,
                  kj::mv(assessment.groupNodes))
      .then([this, change = kj::mv(change)](RunResult result) mutable {
        settle(*change, result);
        return kj::mv(change->report);
      });
}

/// What a person's bind means beyond itself: it is declared with --keep, and outlives an
/// allocation.
void Binder::keep(Change& change) {
  const ChangeOrder& order = change.request.order;
  if (order.kind != ChangeKind::kBind || change.request.by == ChangeBy::kAllocation) return;
  for (const Bdf& address : order.addresses) {
    const auto known = deps_.state.boundAt(address);
    Result<Done, StateFailure> kept = Done{};
    if (known && known->purpose == BoundFor::kAllocation) {
      BoundDevice owned = *known;
      owned.purpose = purposeOf(change.request.by);
      kept = deps_.state.put(owned);
    }
    const PciDevice& device = change.assessment.snapshot.devices.at(address);
    if (kept && order.keep) {
      kept = deps_.state.put(
          DeviceIdentity{address, device.vendor.value_or(0), device.device.value_or(0)});
    }
    if (!kept) {
      change.report.remarks.push_back(address.str() +
                                      " is bound, but not kept: " + kept.error().str());
    }
  }
}

/// What was there before, for as long as it is on VFIO by our doing.
Result<Done, std::string> Binder::recordFormer(Change& change, const AuditIntent& intent) {
  if (change.request.order.kind != ChangeKind::kBind) return Done{};
  for (const AuditDevice& before : intent.devices) {
    const PciDevice& device = change.assessment.snapshot.devices.at(before.address);
    const DeviceIdentity card{before.address, device.vendor.value_or(0), device.device.value_or(0)};
    const auto known = deps_.state.boundAt(before.address);
    change.recordsBefore[before.address] = known;
    // From one VFIO driver to another, or left between two by whoever died in a change: what was
    // before the first of them still is.
    const bool isBetween = device.driver.empty() || offersVfio(device);
    if (known && known->device == card && known->bootId == deps_.bootId && isBetween) continue;
    const auto put =
        deps_.state.put(BoundDevice{.device = card,
                                    .driver = change.assessment.plan.driverFor(before.address),
                                    .formerDriver = before.driver,
                                    .formerOverride = before.driverOverride,
                                    .bootId = deps_.bootId,
                                    .purpose = purposeOf(change.request.by)});
    if (!put) return Failure{put.error().str()};
  }
  return Done{};
}

/// What has to be durable before the first write.
Result<Done, std::string> Binder::record(Change& change) {
  const AuditIntent intent = intentOf(change.request, change.groups, change.assessment);
  if (auto recorded = recordFormer(change, intent); !recorded) return recorded;
  if (deps_.audit == nullptr) return Failure{deps_.auditTrouble};
  const auto sequence = deps_.audit->append(intent);
  if (!sequence) return Failure{"the audit log cannot be written: " + wordsOf(sequence.error())};
  change.report.auditSequence = *sequence;
  return Done{};
}

void Binder::settle(Change& change, const RunResult& result) {
  ChangeReport& report = change.report;
  report.outcome = result.outcome;
  report.error = result.error;
  report.differences = result.differences;
  report.remarks.insert(report.remarks.end(), result.remarks.begin(), result.remarks.end());
  stuck_.insert(result.stuck.begin(), result.stuck.end());
  const bool bind = change.request.order.kind == ChangeKind::kBind;
  const bool unbind = change.request.order.kind == ChangeKind::kUnbind;
  if (result.outcome == ChangeOutcome::kDone) keep(change);
  for (const Bdf& address : change.assessment.plan.changed()) {
    if (result.outcome == ChangeOutcome::kDone && unbind) {
      if (!deps_.state.dropBound(address))
        report.remarks.push_back(address.str() + ": its record stays");
    } else if (result.outcome == ChangeOutcome::kFailed && bind) {
      const auto& before = change.recordsBefore[address];
      if (!(before ? deps_.state.put(*before) : deps_.state.dropBound(address))) {
        report.remarks.push_back(address.str() + ": its record stays");
      }
    }
  }
  // Whoever wrote may have the descriptors a moment longer; who is stuck keeps the lock.
  for (const auto& [address, lock] : change.locks) {
    if (!result.stuck.contains(*address.address())) unlock(lock);
  }
  const AuditOutcome outcome{.intent = report.auditSequence,
                             .outcome = report.outcome,
                             .error = report.error,
                             .differences = report.differences};
  // A log that was tampered with meanwhile says so first; the next record is taken again.
  auto recorded = deps_.audit->append(outcome);
  if (!recorded) recorded = deps_.audit->append(outcome);
  if (!recorded) {
    tellFailure(recorded.error());
    report.remarks.push_back("the outcome is not in the audit log: " + wordsOf(recorded.error()));
  }
  logLine(LogEvent::kDriverChange, {{"operation", kj::str(nameOf(change.request.order.kind))},
                                    {"outcome", kj::str(nameOf(report.outcome).data())},
                                    {"devices", addressesOf(change.request.order)},
                                    {"audit", kj::str(report.auditSequence)},
                                    {"error", kj::str(report.error.c_str())}});
}

void Binder::refuse(Change& change, std::string error, const std::string& reason) {
  change.report.outcome = ChangeOutcome::kRefused;
  change.report.error = std::move(error);
  if (change.request.order.dryRun) return;
  const AuditPeer& peer = change.request.peer;
  for (const IommuGroupId& group : change.groups) {
    refusals_.count({peer.role + " uid=" + std::to_string(peer.uid), group.number(), reason});
  }
}

void Binder::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kDriverChange,
          {{"outcome", kj::str("broken")}, {"error", kj::str(exception.getDescription())}});
}

std::string Binder::barToAllocation(const IommuGroup& group, const Snapshot& snapshot) const {
  const std::string policy(nameOf(Guard::kPolicy));
  std::vector<Bdf> endpoints;
  for (const Bdf& member : group.members) {
    const auto device = snapshot.devices.find(member);
    if (device == snapshot.devices.end() || standsAside(device->second)) continue;
    // What is not allowed anyway is not looked at any closer.
    if (!permits(deps_.settings, device->second)) {
      return policy + ": " + member.str() + ": no --allow matches it";
    }
    endpoints.push_back(member);
  }
  if (endpoints.empty()) return policy + ": it has no function that could be bound";
  const Assessment assessment = assess(
      assessmentDeps(), ChangeOrder{.kind = ChangeKind::kBind, .addresses = std::move(endpoints)},
      ChangeBy::kAllocation, {group.id});
  if (!assessment.nonsense.empty()) return policy + ": " + assessment.nonsense;
  for (const Objection& one : assessment.objections) {
    if (one.overridden) continue;
    return std::string(nameOf(one.guard)) + ": " + one.address.str() + ": " + one.reason + "; " +
           one.lift;
  }
  return {};
}

}  // namespace vfiogate
