#include "tests/property/ledger_world.h"

#include <algorithm>

#include "tests/support/written_specs.h"

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;

}  // namespace

LedgerWorld::LedgerWorld() {
  // Two functions in two resources, two of a kind in one that shows all, one alone.
  hardware_.add("0000:01:00.0", 31).device = std::uint16_t{1};
  hardware_.add("0000:01:00.1", 31).device = std::uint16_t{2};
  hardware_.add("0000:02:00.0", 32).device = std::uint16_t{3};
  hardware_.add("0000:02:00.1", 32).device = std::uint16_t{3};
  hardware_.add(kPhysical, 33).device = std::uint16_t{1};
  hardware_.device(kPhysical).sriov = SriovRole::kPhysicalFunction;
  hardware_.addMediated(kMediated, "", "t-1", 34);
  for (const char* name : {"1", "2", "3"}) {
    ResourceSettings entry;
    entry.name = resource(name);
    entry.select = *Selector::parse("device=000" + std::string(name));
    entry.allocation.injectCdi = true;
    entry.allocation.serve = Serve::kBoth;
    if (std::string_view(name) == "3") entry.allocation.groupUnit = GroupUnit::kAll;
    // Group 33 is bound by hand, and shares its resource with 31.
    entry.allocation.onAllocate = entry.allocation.returnToOriginal = true;
    settings_.resources.push_back(std::move(entry));
  }
  ResourceSettings parts;
  parts.name = resource("4");
  parts.select = *Selector::parse("mdev=t-1");
  parts.allocation.injectCdi = true;
  parts.allocation.serve = Serve::kBoth;
  settings_.resources.push_back(std::move(parts));
  // A card whose companion goes along with it.
  hardware_.add(kCard, 36).device = std::uint16_t{5};
  PciDevice& sound = hardware_.add(kSound, 36);
  sound.device = std::uint16_t{6};
  sound.classCode = 0x040300;
  for (const char* name : {"5", "6"}) {
    ResourceSettings entry;
    entry.name = resource(name);
    entry.select = *Selector::parse("device=000" + std::string(name));
    if (std::string_view(name) == "6") entry.allocation.companions = Companions::kAttach;
    settings_.resources.push_back(std::move(entry));
  }
  ResourceSettings sets;  // each of two groups, one of them in both
  sets.name = resource("7");
  sets.sets = {{"a", unitsNamed("set:a")}, {"b", unitsNamed("set:b")}};
  sets.setsOverlap = true;
  sets.allocation.serve = Serve::kBoth;
  sets.allocation.onAllocate = sets.allocation.returnToOriginal = true;
  settings_.resources.push_back(std::move(sets));
  ResourceSettings machines;  // the same, with an entry for each device: resource 9 has tickets
  machines.name = resource("8");
  machines.sets = {{"c", unitsNamed("set:c")}, {"d", unitsNamed("set:d")}};
  machines.setsOverlap = true;
  machines.allocation.onAllocate = machines.allocation.returnToOriginal = true;
  machines.allocation.more = MoreDevices{resource("9"), 2};
  settings_.resources.push_back(std::move(machines));
  putOnHost(IommuGroupId(31));
  putOnHost(IommuGroupId(32));
  now_.instant = Instant(1h);
  now_.wall = std::chrono::sys_days(std::chrono::days(20'000));
  kubelet_ = {1, now_.wall};
  see();
  run(ledger_.kubeletSeen(kubelet_, now_));
  passTime(10);
  run(ledger_.begin({version(), list(), {}}, now_));
}

void LedgerWorld::see() {
  if (!privd_) return;
  readUse();
  tellBinding();
  HardwareFacts facts = factsOf(hardware_.snapshot(), true);
  const auto catalog = sortIntoResources(settings_, facts.snapshot);
  facts.specs = writtenFor(catalog, facts.snapshot);
  run(ledger_.hardwareSeen(facts, catalog, now_));
}

bool LedgerWorld::openInGroupOf(const UnitId& device) const {
  const auto group = groupOf(hardware_.snapshot(), device);
  const auto same = [&](const UnitId& other) {
    return groupOf(hardware_.snapshot(), other) == group;
  };
  for (const Pod& pod : pods_) {
    for (const std::string& id : pod.ids) {
      if (pod.open && std::ranges::any_of(unitsNamed(id), same)) return true;
    }
  }
  for (const Claim& claim : claims_) {
    if (claim.open && same(claim.device)) return true;
  }
  return false;
}

void LedgerWorld::readUse() {
  for (auto& [id, group] : hardware_.snapshot().groups) {
    if (!group.mediated.empty()) continue;  // nothing shows it
    group.use = openInGroupOf(group.members.front()) ? GroupUse::kOpen : GroupUse::kIdle;
  }
}

GroupReading LedgerWorld::reread(IommuGroupId group) const {
  GroupReading reading{GroupReading::Answer::kSeen, hardware_.reread(group)};
  IommuGroup& seen = reading.seen.groups.at(group);
  if (!seen.mediated.empty()) return reading;
  seen.use = openInGroupOf(seen.members.front()) ? GroupUse::kOpen : GroupUse::kIdle;
  return reading;
}

CheckpointVersion LedgerWorld::version() const {
  CheckpointVersion version{now_.wall, recorded_, {}};
  for (const auto& [name, frame] : kubeletLists_) {
    for (const FrameDevice& device : frame.devices)
      version.registered[name.str()].insert(device.id);
  }
  return version;
}

const Pod* LedgerWorld::recordedPod(const std::string& uid) const {
  for (const Pod& pod : pods_) {
    if (pod.uid == uid) return &pod;
  }
  return nullptr;
}

PodList LedgerWorld::list() const {
  PodList list;
  if (!ready_) return list;
  for (const RecordedDevices& entry : recorded_) {
    const Pod* pod = recordedPod(entry.podUid);
    if (pod == nullptr || !pod->active) continue;
    list.pods.insert("ns/" + pod->uid);
    list.devices.push_back({"ns", pod->uid, entry.container, entry.resource, entry.ids});
  }
  for (const Pod& pod : pods_) {
    if (pod.active) list.pods.insert("ns/" + pod.uid);
  }
  return list;
}

/// The kubelet frees what inactive pods held, once its sources are ready.
void LedgerWorld::freeInactive() {
  if (!ready_) return;
  std::erase_if(recorded_, [this](const RecordedDevices& entry) {
    const Pod* pod = recordedPod(entry.podUid);
    return pod == nullptr || !pod->active;
  });
}

void LedgerWorld::run(const Effects& effects) {
  checkWorkedOut();
  if (effects.allocated) onFile_ = *effects.allocated;
  for (const auto& [group, note] : effects.alsoAllocated) onFile_.insert_or_assign(group, note);
  for (const auto& [name, frame] : effects.frames) kubeletLists_.insert_or_assign(name, frame);
  checkOrder(effects);
  checkCodes(effects);
  for (const Answer& answer : effects.answers) answered(answer);
  for (const UseQuestion& question : effects.questions) questions_.push_back(question);
  reconcilePending_ = reconcilePending_ || effects.beginReconcile;
  for (const IommuGroupId group : effects.binds) changes_.push_back({group, true});
  for (const IommuGroupId group : effects.returns) {
    ++returns_;
    checkReturn(group);
    changes_.push_back({group, false});
  }
  for (const CallId call : effects.specsToWrite) run(ledger_.specWritten(call, true, now_));
  for (const ClaimName& claim : effects.specsToUnlink) {
    for (Claim& one : claims_) {
      if (one.uid == claim.uid) one.prepared = false;
    }
    run(ledger_.specUnlinked(claim.uid, true, now_));
  }
  if (effects.askList) {
    freeInactive();
    run(ledger_.listRead(list(), now_.instant, now_));
  }
}

void LedgerWorld::answered(const Answer& answer) {
  const auto claim = claimCalls_.find(answer.call);
  if (claim != claimCalls_.end()) {
    for (Claim& one : claims_) {
      if (one.uid == claim->second && answer.response) one.prepared = true;
    }
    claimCalls_.erase(claim);
    if (answer.response) ++grants_;
    return;
  }
  if (callsBeside_.erase(answer.call) != 0) return;
  if (!admission_ || admission_->call != answer.call) return;
  checkCompanions(answer);
  checkMore(answer);
  if (!answer.response) {  // the pod fails for good
    if (!pods_[admission_->pod].open) pods_[admission_->pod].active = false;
    admission_.reset();
    return;
  }
  ++grants_;
  admission_->granted = true;
  admission_->grantedAt = now_.instant;
}

void LedgerWorld::makeReconcile() {
  if (!reconcilePending_) return;
  reconcilePending_ = false;
  freeInactive();
  run(ledger_.listRead(list(), now_.instant, now_));
  for (int i = 0; i < 2; ++i) {
    now_.wall += 1ms;
    now_.instant += 1ms;
    run(ledger_.versionRead(version(), true, now_));
  }
  run(ledger_.reconcileEnded(true, now_));
}

void LedgerWorld::passTime(unsigned pick) {
  constexpr std::chrono::milliseconds kSpans[] = {50ms, 700ms, 1500ms, 4s, 11s, 31s};
  const Instant until = now_.instant + kSpans[pick % std::size(kSpans)];
  // A reply waits in the kubelet less than 30 s: ledger.md 4 takes that for granted.
  const bool late = admission_ && admission_->granted && until - admission_->grantedAt > 25s;
  while (late && admission_ && admission_->granted) recordReply();
  for (int rounds = 0; rounds < 1000; ++rounds) {
    const auto due = ledger_.nextDeadline();
    if (!due || *due > until) {
      now_.wall += until - now_.instant;
      now_.instant = until;
      run(ledger_.tick(now_));
      return;
    }
    const Instant next = std::max(*due, now_.instant);
    now_.wall += next - now_.instant;
    now_.instant = next;
    run(ledger_.tick(now_));
    const auto again = ledger_.nextDeadline();
    if (again && *again <= now_.instant) return fail("live: due at once, again");
  }
  fail("live: the ledger is never done");
}

const FrameDevice* LedgerWorld::shown(const std::string& name, const std::string& id) const {
  const auto frame = kubeletLists_.find(resource(name));
  if (frame == kubeletLists_.end()) return nullptr;
  for (const FrameDevice& device : frame->second.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

std::string LedgerWorld::step(const Step& step) {
  const auto fits = [&](int act) { return step.act == act; };
  if (fits(0) || fits(1)) admit(step.pick);
  if (fits(2)) admitAgain(step.pick);
  if (fits(3) || fits(4)) answerQuestion(step.pick);
  if (fits(5) || fits(6)) recordReply();
  if (fits(7)) preStart(step.pick);
  if (fits(8)) openDevice(step.pick);
  if (fits(9)) endPod(step.pick);
  if (fits(10)) forceDelete(step.pick);
  if (fits(11)) closeDevice(step.pick);
  if (fits(12) && step.pick % 4 == 0) restartKubelet(step.pick / 4);
  if (fits(12) && step.pick % 4 != 0) ready_ = true;
  if (fits(13)) makeReconcile();
  if (fits(14) && step.pick % 3 == 0) restartPlugind();
  if (fits(15) && (step.pick % 4 == 0 || !privd_)) movePrivd();
  if (fits(16)) prepare(step.pick);
  if (fits(17)) unprepare(step.pick);
  if (fits(18)) openClaim(step.pick);
  if (fits(14)) see();
  if (fits(19)) passTime(step.pick);
  if (fits(20)) endChange(step.pick);
  if (fits(21)) makeOrRemoveVirtual();
  if (fits(22)) askBeside(step.pick);
  // The world is mostly quick: otherwise lives would be spent waiting.
  if (step.pick % 3 != 0) {
    for (int turn = 0; turn < 8 && step.pick % 2 == 0; ++turn) endChange(step.pick / 6);
    while (!questions_.empty()) answerQuestion(step.pick);
  }
  if (step.pick % 4 == 1) makeReconcile();
  if (step.pick % 8 < 5) recordReply();
  check();
  return failure_;
}

}  // namespace vfiogate::test
