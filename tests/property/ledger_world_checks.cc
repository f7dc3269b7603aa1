// What must hold after every step, and in the end (ledger.md 16).

#include <algorithm>

#include "plugind/core/ledger/locality.h"
#include "plugind/core/status/known_codes.h"
#include "tests/property/ledger_world.h"

namespace vfiogate::test {

void LedgerWorld::check() {
  checkParties();
  checkTickets();
  checkEnoughTickets();
  checkHealth();
  checkChoice();
  checkPool();
}

/// I1: at most one live party per group, and for a physical function with its virtual one. A VM
/// that has a mediated device open shows nowhere: it lives on for the 60 s of row 27 (section 15),
/// and then the kernel alone keeps the next one out.
void LedgerWorld::checkParties() {
  std::map<IommuGroupId, std::set<std::string>> parties;
  const auto add = [&](const std::string& party, const UnitId& id) {
    parties[*groupOf(hardware_.snapshot(), id)].insert(party);
  };
  const auto shows = [this](const UnitId& id, Instant ended) {
    return id.uuid() == nullptr || now_.instant - ended < timing::kUnconfirmed;
  };
  for (const RecordedDevices& entry : recorded_) {
    const Pod* pod = recordedPod(entry.podUid);
    if (pod == nullptr || !(pod->active || pod->open)) continue;
    for (const std::string& id : entry.ids) {
      if (isTicket(id)) continue;  // nobody has anything by it
      for (const UnitId& one : unitsNamed(id)) {
        if (pod->active || shows(one, pod->ended)) add(entry.podUid, one);
      }
    }
  }
  for (const Pod& pod : pods_) {  // also one that the kubelet has forgotten
    const bool lives = pod.open || (pod.active && pod.started);
    for (const std::string& id : pod.ids) {
      for (const UnitId& one : unitsNamed(id)) {
        if (lives && (pod.active || shows(one, pod.ended))) add(pod.uid, one);
      }
    }
  }
  if (admission_) {
    std::vector<Ask> granted = admission_->before;
    if (admission_->granted) granted.push_back(admission_->ask);
    for (const Ask& part : granted) {
      for (const std::string& id : part.ids) {
        if (isTicket(id)) continue;
        for (const UnitId& one : unitsNamed(id)) add(pods_[admission_->pod].uid, one);
      }
    }
  }
  for (const Claim& claim : claims_) {
    const bool shown = claim.open && claim.device.uuid() == nullptr;
    if (claim.prepared || shown) add(claim.uid, claim.device);
  }
  if (const auto group = groupOf(hardware_.snapshot(), unit(kVirtual))) {
    const auto& physical = parties[*groupOf(hardware_.snapshot(), unit(kPhysical))];
    const auto& virtuals = parties[*group];
    if (!physical.empty() && !virtuals.empty() && physical != virtuals) {
      fail("I1: " + *virtuals.begin() + " has a virtual function of what " + *physical.begin() +
           " has");
    }
  }
  for (const auto& [group, live] : parties) {
    if (live.size() < 2) continue;
    fail("I1: group " + std::to_string(group.number()) + " has " + *live.begin() + " and " +
         *live.rbegin());
  }
}

/// I4: what the kubelet has recorded is Healthy.
void LedgerWorld::checkHealth() {
  if (!ledger_.begun()) return;
  for (const RecordedDevices& entry : recorded_) {
    for (const std::string& id : entry.ids) {
      const FrameDevice* device = shown(entry.resource.substr(entry.resource.find('/') + 1), id);
      if (device == nullptr || !device->healthy) fail("I4: " + id + " of " + entry.podUid);
    }
  }
}

/// GetPreferredAllocation takes last what may be somebody's.
void LedgerWorld::checkChoice() {
  const LedgerState& state = ledger_.state();
  if (state.catalog.resources.empty()) return;
  const Locality locality = localityOf(state, state.catalog.resources.begin()->first, now_.instant);
  for (const auto& [id, candidate] : locality.candidates) {
    const auto named = UnitId::parse(id);
    if (!named) continue;  // a set
    if (candidate.doubtful != (ledger_.holding(*named) != Holding::kFree)) {
      fail("choice: " + id + (candidate.doubtful ? " is free" : " is not free"));
    }
  }
}

/// Tickets alone hold nothing.
void LedgerWorld::checkTickets() {
  if (!ledger_.begun() || cardAsked_) return;
  for (const char* id : {kCard, kSound}) {
    if (ledger_.holding(unit(id)) != Holding::kFree) fail(std::string("tickets: they hold ") + id);
  }
}

/// What the card's answer names beside the card, and a ticket's: nothing.
void LedgerWorld::checkCompanions(const Answer& answer) {
  const std::string& asked = admission_->ask.resource;
  if (asked == "6" && (!answer.response || *answer.response != AllocationResponse{})) {
    fail("tickets: one was not answered with nothing");
  }
  if (asked != "5" || !answer.response) return;
  const auto& variables = answer.response->environment;
  const auto named = variables.find("PCI_RESOURCE_VFIOGATE_DEV_6");
  if (named == variables.end() || named->second != kSound) {
    fail("companions: the card's answer does not name its own");
  }
}

/// The set's answer names one device for the entry of its resource, and the others for those of the
/// tickets'.
void LedgerWorld::checkMore(const Answer& answer) {
  const Ask& asked = admission_->ask;
  if (asked.resource == "9" && (!answer.response || *answer.response != AllocationResponse{})) {
    fail("more: a ticket was not answered with nothing");
  }
  if (asked.resource != "8" || !answer.response) return;
  std::string first;
  std::string others;
  for (const UnitId& one : unitsNamed(asked.ids.front())) {
    std::string& names = first.empty() ? first : others;
    names += (names.empty() ? "" : ",") + one.str();
  }
  const auto& variables = answer.response->environment;
  const auto main = variables.find("PCI_RESOURCE_VFIOGATE_DEV_8");
  const auto more = variables.find("PCI_RESOURCE_VFIOGATE_DEV_9");
  if (main == variables.end() || main->second != first) fail("more: the first is not alone");
  if (more == variables.end() || more->second != others) fail("more: the others are not named");
}

/// Whoever finds sets free finds two tickets free for each: a machine that the scheduler sends here
/// for a set is not turned away for want of tickets.
void LedgerWorld::checkEnoughTickets() {
  if (!ledger_.begun()) return;
  const auto freeOf = [this](const char* name) {
    const auto frame = kubeletLists_.find(resource(name));
    if (frame == kubeletLists_.end()) return std::ptrdiff_t{0};
    std::set<std::string> taken;
    for (const RecordedDevices& entry : recorded_) {
      if (entry.resource == resource(name).str()) taken.insert(entry.ids.begin(), entry.ids.end());
    }
    return std::ranges::count_if(frame->second.devices, [&taken](const FrameDevice& device) {
      return device.healthy && !taken.contains(device.id);
    });
  };
  if (freeOf("9") < 2 * freeOf("8")) fail("more: a set is free, and has too few tickets");
}

/// order: a grant's frames withdraw the siblings, and were handed over before.
void LedgerWorld::checkOrder(const Effects& effects) {
  for (const Answer& answer : effects.answers) {
    if (!answer.response || !admission_ || admission_->call != answer.call) continue;
    if (admission_->ask.resource == "7" || admission_->ask.resource == "8") continue;
    const std::vector<std::string>& asked = admission_->ask.ids;
    const std::string first = asked.front();
    if (isTicket(first)) continue;
    const std::string other = first.substr(0, 11) + (first.back() == '0' ? "1" : "0");
    for (const char* name : {"1", "2", "3"}) {
      const FrameDevice* sibling = shown(name, other);
      const bool mine = std::ranges::find(asked, other) != asked.end();
      const bool again = !pods_[admission_->pod].ids.empty() || admission_->ask.resource == "3";
      if (sibling != nullptr && sibling->healthy && !mine && !again) {
        fail("order: " + other + " was not withdrawn before the reply");
      }
    }
  }
}

/// Metrics begin with a zero for each code: one that is not listed would appear late.
void LedgerWorld::checkCodes(const Effects& effects) {
  static const std::vector<std::string> kEvents = knownJournalEvents();
  static const std::vector<std::string> kRefusals = knownRefusals();
  static const std::vector<std::string> kReasons = knownOfferReasons();
  const auto expect = [this](const std::vector<std::string>& known, const std::string& code) {
    if (std::ranges::find(known, code) == known.end()) fail("codes: " + code + " is not listed");
  };
  for (const JournalEvent& event : effects.journal) {
    expect(kEvents, event.event);
    if (event.event == "refused") expect(kRefusals, headOf(event.reason));
    if (event.event == "withheld") expect(kReasons, event.reason);
    const bool quarrel = event.event == "disputed" || event.event == "foreign-ids";
    const bool ofTickets = event.resource == resource("6") || event.resource == resource("9");
    if (quarrel && ofTickets) fail("tickets: " + event.event);
  }
}

/// Where the ledger did not work out what follows from an event, that would have changed nothing.
void LedgerWorld::checkWorkedOut() {
  if (!ledger_.state().fastUntil) return;
  Ledger whole = ledger_;
  const Effects effects = whole.tick(now_);
  if (effects != Effects{}) return fail("fast path: something followed from the event");
  LedgerState expected = whole.state();
  expected.fastUntil = ledger_.state().fastUntil;
  if (expected != ledger_.state()) return fail("fast path: something else changed with the event");
  const auto due = whole.nextDeadline();
  const auto mine = ledger_.nextDeadline();
  if (due && (!mine || *mine > *due)) fail("fast path: something is due before the ledger says so");
}

std::string LedgerWorld::settle() {
  if (!privd_) movePrivd();
  ready_ = true;
  for (int i = 0; i < 3; ++i) recordReply();
  admission_.reset();
  for (Pod& pod : pods_) pod.open = pod.active = false;
  for (Claim& claim : claims_) claim.open = false;
  see();
  for (int i = 0; i < 60; ++i) {
    while (!changes_.empty()) endChange(1);
    while (!questions_.empty()) answerQuestion(0);
    makeReconcile();
    if (i % 4 == 1) {
      for (unsigned c = 0; c < claims_.size(); ++c) unprepare(0);
    }
    passTime(i % 2 == 0 ? 5 : 3);
  }
  if (!ledger_.adopted()) fail("live: not adopted");
  if (!ledger_.state().calls.empty()) fail("live: a call never ends");
  for (const auto& [address, device] : hardware_.snapshot().devices) {
    if (ledger_.holding(address) != Holding::kFree) fail("live: " + address.str() + " is not free");
  }
  if (ledger_.holding(unit(kMediated)) != Holding::kFree) fail("live: the part is not free");
  return failure_;
}

}  // namespace vfiogate::test
