// What kubelet, pods and claims do.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tests/property/ledger_world.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;

template <typename List, typename Test>
auto choose(List& list, unsigned pick, Test test) -> decltype(&list[0]) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (test(list[i])) fitting.push_back(i);
  }
  return fitting.empty() ? nullptr : &list[fitting[pick % fitting.size()]];
}

}  // namespace

/// A virtual function of group 33's device comes, or goes while nobody has it.
void LedgerWorld::makeOrRemoveVirtual() {
  if (!privd_) return;
  const PciDevice& physical = hardware_.device(kPhysical);
  if (physical.virtualFunctions == 0) {
    PciDevice& made = hardware_.add(kVirtual, 35);
    made.device = std::uint16_t{1};
    made.sriov = SriovRole::kVirtualFunction;
    made.physicalFunction = at(kPhysical);
    hardware_.device(kPhysical).virtualFunctions = 1;
    return see();
  }
  const auto has = [](const auto& one) { return one.ids.contains(kVirtual); };
  const bool pods = std::ranges::any_of(pods_, [&](const Pod& pod) {
    return has(pod) && (pod.active || pod.open || now_.instant - pod.ended < timing::kUnconfirmed);
  });
  const bool asked = admission_ || !claimCalls_.empty() || !questions_.empty();
  const bool claimed = std::ranges::any_of(claims_, [](const Claim& claim) {
    return claim.device == unit(kVirtual) && (claim.prepared || claim.open);
  });
  if (pods || asked || claimed || std::ranges::any_of(recorded_, has)) return;
  hardware_.remove(kVirtual);
  hardware_.device(kPhysical).virtualFunctions = 0;
  see();
}

/// Admission is serial. The kubelet picks Healthy devices that it has not recorded.
void LedgerWorld::admit(unsigned pick) {
  if (admission_) return;
  freeInactive();
  const std::string name = std::to_string(1 + pick % 8);
  auto chosen = choiceOf(name, pick);
  if (!chosen) return;
  pods_.push_back({"p" + std::to_string(pods_.size()), name, {}});
  // Whoever wants the card wants a ticket with it, mostly; the kubelet asks in any order.
  auto ticket = name == "5" && (pick / 16) % 4 != 0 ? choiceOf("6", pick) : std::nullopt;
  if (name == "8") {
    chosen->ids.resize(1);
    ticket = choiceOf("9", pick, 2);
    if (!ticket) return;  // the scheduler finds no node for it
  }
  if (ticket && (pick / 64) % 2 == 0) std::swap(*chosen, *ticket);
  ask(pods_.size() - 1, *std::move(chosen));
  if (admission_) admission_->next = std::move(ticket);
}

/// What the kubelet would ask for, one or two where no count is told; null: too little Healthy is
/// left.
std::optional<Ask> LedgerWorld::choiceOf(const std::string& name, unsigned pick,
                                         std::size_t count) const {
  const auto frame = kubeletLists_.find(resource(name));
  if (frame == kubeletLists_.end()) return std::nullopt;
  std::vector<std::string> unused;
  for (const FrameDevice& device : frame->second.devices) {
    const bool recorded = std::ranges::any_of(recorded_, [&](const RecordedDevices& entry) {
      return entry.resource == resource(name).str() && entry.ids.contains(device.id);
    });
    if (device.healthy && !recorded) unused.push_back(device.id);
  }
  if (unused.empty()) return std::nullopt;
  const auto first = static_cast<std::ptrdiff_t>((pick / 3) % unused.size());
  std::rotate(unused.begin(), unused.begin() + first, unused.end());
  if (count == 0) count = unused.size() > 1 && (pick / 16) % 4 == 0 ? 2 : 1;
  if (unused.size() < count) return std::nullopt;
  unused.resize(count);
  return Ask{name, unused};
}

/// An app container takes what the pod's init container had, or a part of it.
void LedgerWorld::admitAgain(unsigned pick) {
  if (admission_) return;
  freeInactive();
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    const Pod& pod = pods_[i];
    const bool recorded = std::ranges::any_of(
        recorded_, [&pod](const RecordedDevices& entry) { return entry.podUid == pod.uid; });
    if (pod.active && recorded && !pod.started && !pod.open) fitting.push_back(i);
  }
  if (fitting.empty()) return;
  const std::size_t chosen = fitting[pick % fitting.size()];
  std::set<std::string> all;
  for (const RecordedDevices& entry : recorded_) {
    const bool its = entry.resource == resource(pods_[chosen].resource).str();
    if (its && entry.podUid == pods_[chosen].uid) all.insert(entry.ids.begin(), entry.ids.end());
  }
  std::vector<std::string> ids(all.begin(), all.end());
  if (ids.size() > 1 && pick % 2 == 0) ids = {ids[(pick / 2) % ids.size()]};
  if (!ids.empty()) ask(chosen, {pods_[chosen].resource, ids});
}

void LedgerWorld::ask(std::size_t pod, Ask ask) {
  admission_ = Admission{.pod = pod, .ask = std::move(ask), .call = CallId(0)};
  call();
}

void LedgerWorld::call() {
  const Ask& ask = admission_->ask;
  admission_->call = CallId(++lastCall_);
  admission_->granted = false;
  cardAsked_ = cardAsked_ || ask.resource == "5";
  const auto frame = kubeletLists_.find(resource(ask.resource));
  run(ledger_.allocateAsked(admission_->call, {resource(ask.resource), ask.ids, frame->second},
                            now_));
}

/// Somebody asks while the kubelet does, and has no pod; or hangs up.
void LedgerWorld::askBeside(unsigned pick) {
  if (callsBeside_.size() == 3 || (!callsBeside_.empty() && pick % 8 == 0)) {
    const CallId call = *callsBeside_.begin();
    callsBeside_.erase(call);
    return run(ledger_.callCancelled(call, now_));
  }
  const auto chosen = choiceOf(std::to_string(1 + pick % 4), pick);
  if (!chosen) return;
  const CallId call(++lastCall_);
  callsBeside_.insert(call);
  const ResourceName name = resource(chosen->resource);
  run(ledger_.allocateAsked(call, {name, chosen->ids, kubeletLists_.at(name)}, now_));
}

void LedgerWorld::answerQuestion(unsigned pick) {
  if (questions_.empty()) return;
  const auto chosen = questions_.begin() + static_cast<std::ptrdiff_t>(pick % questions_.size());
  const UseQuestion question = *chosen;
  questions_.erase(chosen);
  if (!privd_) return;
  run(ledger_.groupRead(question.group, reread(question.group), question.call, now_));
}

/// The kubelet asks for the container's next resource, and writes its checkpoint after the last.
void LedgerWorld::recordReply() {
  if (!admission_ || !admission_->granted) return;
  if (admission_->next) {
    admission_->before.push_back(admission_->ask);
    admission_->ask = *std::exchange(admission_->next, std::nullopt);
    return call();
  }
  Admission admission = *std::exchange(admission_, std::nullopt);
  admission.before.push_back(admission.ask);
  Pod& pod = pods_[admission.pod];
  for (const Ask& part : admission.before) {
    for (const std::string& id : part.ids) {
      if (shown(part.resource, id) == nullptr) fail("T5: " + id + " is not in the kubelet's list");
      if (!isTicket(id)) pod.ids.insert(id);
    }
    recorded_.push_back({pod.uid,
                         "c" + std::to_string(lastCall_),
                         resource(part.resource).str(),
                         {part.ids.begin(), part.ids.end()},
                         std::nullopt,
                         std::nullopt});
  }
  now_.wall += 1ms;
  now_.instant += 1ms;
  run(ledger_.versionRead(version(), false, now_));
}

void LedgerWorld::preStart(unsigned pick) {
  Pod* pod = choose(pods_, pick, [this](const Pod& one) {
    const bool admitting = admission_ && &pods_[admission_->pod] == &one;
    return one.active && !one.started && !one.ids.empty() && !admitting;
  });
  if (pod == nullptr || !ledger_.begun()) return;
  const RecordedDevices* mine = choose(
      recorded_, pick, [pod](const RecordedDevices& entry) { return entry.podUid == pod->uid; });
  if (mine == nullptr) return;  // F-D: fails in the kubelet
  pod->started = true;
  const std::string container = mine->container;
  for (const RecordedDevices& entry : std::vector<RecordedDevices>(recorded_)) {
    if (entry.podUid != pod->uid || entry.container != container) continue;
    const CallId call(++lastCall_);
    const Effects effects = ledger_.preStartAsked(
        call, {*ResourceName::parse(entry.resource), {entry.ids.begin(), entry.ids.end()}}, now_);
    const bool passed = std::ranges::any_of(effects.answers, [call](const Answer& answer) {
      return answer.call == call && !answer.refusal;
    });
    run(effects);
    pod->started = pod->started && passed;
  }
}

void LedgerWorld::openDevice(unsigned pick) {
  Pod* pod =
      choose(pods_, pick, [](const Pod& one) { return one.active && one.started && !one.open; });
  if (pod == nullptr) return;
  for (const std::string& id : pod->ids) {
    for (const UnitId& one : unitsNamed(id)) {
      if (openInGroupOf(one)) return;  // EBUSY
      if (one.uuid() == nullptr && !offersVfio(hardware_.device(one.str()))) return;
    }
  }
  pod->open = true;
  see();
}

/// The pod ends in good order: its VM first.
void LedgerWorld::endPod(unsigned pick) {
  Pod* pod = choose(pods_, pick, [this](const Pod& one) {
    return one.active && !(admission_ && &pods_[admission_->pod] == &one);
  });
  if (pod == nullptr) return;
  pod->open = false;
  pod->active = false;
  pod->ended = now_.instant;
}

/// Not in the window of section 15, which nothing closes.
void LedgerWorld::forceDelete(unsigned pick) {
  Pod* pod = choose(pods_, pick, [this](const Pod& one) {
    const bool admitting = admission_ && &pods_[admission_->pod] == &one;
    return one.active && (one.open || !one.started) && !admitting;
  });
  if (pod == nullptr) return;
  pod->active = false;
  pod->ended = now_.instant;
}

void LedgerWorld::closeDevice(unsigned pick) {
  Pod* pod = choose(pods_, pick, [](const Pod& one) { return one.open && !one.active; });
  if (pod != nullptr) pod->open = false;
  see();
}

void LedgerWorld::restartKubelet(unsigned pick) {
  if (pick % 3 == 0) recorded_.clear();  // the checkpoint is lost, whoever runs
  if (admission_) {
    const CallId call = admission_->call;
    admission_.reset();
    run(ledger_.callCancelled(call, now_));
  }
  now_.wall += 10ms;
  now_.instant += 10ms;
  kubelet_ = {kubelet_.inode + 1, now_.wall};
  ready_ = false;
  reconcilePending_ = false;
  run(ledger_.kubeletSeen(kubelet_, now_));
  run(ledger_.reconcileEnded(false, now_));
}

void LedgerWorld::restartPlugind() {
  if (!privd_) return;
  if (admission_ && !admission_->granted) {  // the RPC fails, and the pod with it
    pods_[admission_->pod].active = pods_[admission_->pod].open;
    admission_.reset();
  }
  claimCalls_.clear();
  callsBeside_.clear();
  questions_.clear();
  cutChanges(lastCall_ % 2 == 0 ? 0 : 1);
  reconcilePending_ = false;
  ledger_ = Ledger{LedgerSettings{}};
  std::vector<PrepareRequest> specs;
  for (const Claim& claim : claims_) {
    if (!claim.prepared) continue;
    const Bdf* address = claim.device.address();
    const std::string name = address == nullptr         ? "4"
                             : address->bus() == 2      ? "3"
                             : address->function() == 1 ? "2"
                                                        : "1";
    specs.push_back({{claim.uid, "ns", claim.uid}, {{resource(name), {claim.device}}}, {}});
  }
  see();
  run(ledger_.kubeletSeen(kubelet_, now_));
  run(ledger_.begin({version(), list(), specs, false, recordedAllocations()}, now_));
}

RecordedAllocations LedgerWorld::recordedAllocations() const {
  RecordedAllocations recorded{.groups = {}, .complete = true};
  for (const auto& [group, note] : onFile_) {
    recorded.groups.push_back({unitsOf(hardware_.snapshot(), group), note});
  }
  return recorded;
}

void LedgerWorld::movePrivd() {
  privd_ = !privd_;
  cutChanges(lastCall_ % 2 == 0 ? 0 : 1);
  if (!privd_) return run(ledger_.privdWent(now_));
  see();
}

void LedgerWorld::prepare(unsigned pick) {
  const std::string devices[] = {"0000:01:00.0", "0000:01:00.1", "0000:02:00.0",
                                 kPhysical,      kMediated,      kVirtual};
  const char* const names[] = {"1", "2", "3", "1", "4", "1"};
  const std::size_t which = pick % 6;
  if (claims_.size() > 40 || !ledger_.begun()) return;
  claims_.push_back({"c" + std::to_string(claims_.size()), unit(devices[which])});
  const std::string uid = claims_.back().uid;
  const CallId call(++lastCall_);
  claimCalls_.emplace(call, uid);
  run(ledger_.prepareAsked(
      call, {{uid, "ns", uid}, {{resource(names[which]), {unit(devices[which])}}}, {}},
      now_.instant, now_));
}

void LedgerWorld::unprepare(unsigned pick) {
  Claim* claim = choose(claims_, pick, [](const Claim& one) { return one.prepared; });
  if (claim == nullptr) return;
  run(ledger_.unprepareAsked(CallId(++lastCall_), {claim->uid, "ns", claim->uid}, now_));
}

void LedgerWorld::openClaim(unsigned pick) {
  Claim* claim = choose(claims_, pick, [](const Claim& one) { return one.prepared || one.open; });
  if (claim == nullptr) return;
  const PciDevice* function = functionOf(hardware_.snapshot(), claim->device);
  const bool bound = function == nullptr || offersVfio(*function);
  claim->open = !claim->open && bound && !openInGroupOf(claim->device);
  see();
}

}  // namespace vfiogate::test
