#pragma once
// A node around the ledger: made-up hardware, a kubelet's memory, and a hand-cranked clock.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugind/core/ledger/ledger.h"
#include "tests/support/hardware.h"
#include "tests/support/written_specs.h"

namespace vfiogate::test {

inline ResourceName resource(std::string_view name) {
  return *ResourceName::parse("vfiogate.dev/" + std::string(name));
}

/// Carries out the ledger's effects at once, unless a test turns that off.
class LedgerNode {
public:
  explicit LedgerNode(LedgerSettings options = {}) : ledger(options) {
    now.instant = Instant(std::chrono::hours(1));
    now.wall = std::chrono::sys_days(std::chrono::days(20'000)) + std::chrono::hours(10);
    now.draw = 0x7f3a;
    kubelet = {1, now.wall};
  }

  ResourceSettings& offer(std::string_view select, std::string_view name) {
    ResourceSettings entry;
    entry.name = resource(name);
    entry.select = *Selector::parse(select);
    entry.allocation.serve = Serve::kBoth;
    settings.resources.push_back(std::move(entry));
    return settings.resources.back();
  }

  void see() {
    facts.snapshot = hardware.snapshot();
    const auto catalog = sortIntoResources(settings, facts.snapshot);
    facts.specs = writtenFor(catalog, facts.snapshot);
    if (!specsFail.empty()) {
      for (auto& [name, state] : facts.specs) state = {specsFail, {}};
    }
    run(ledger.hardwareSeen(facts, catalog, now));
  }

  /// A start with whatever the kubelet remembers; both steps of adoption unless `adopt` is off.
  void start(bool adopt = true) {
    see();
    run(ledger.kubeletSeen(kubelet, now));
    pass(std::chrono::seconds(2));
    run(ledger.begin(
        {readable ? std::optional(version()) : std::nullopt, list, specs, noCheckpoint, recorded},
        now));
    if (adopt) pass(timing::kAdoptionWait + std::chrono::seconds(1));
  }

  /// What the ledger had privd record.
  RecordedAllocations recordedNow(bool complete = true) const {
    RecordedAllocations all{.groups = {}, .complete = complete};
    for (const auto& [group, note] : ledger.state().told) {
      all.groups.push_back({unitsOf(facts.snapshot, group), note});
    }
    return all;
  }
  /// The plugind after this one, which begins with that.
  void startAnew(bool complete = true) {
    recorded = recordedNow(complete);
    ledger = Ledger(LedgerSettings{});
    start(false);
  }

  CheckpointVersion version() const { return {now.wall, entries, registered}; }

  /// The kubelet records an allocation.
  void record(const std::string& pod, std::string_view name, std::set<std::string> ids) {
    entries.push_back(
        {pod, "main", resource(name).str(), std::move(ids), std::nullopt, std::nullopt});
  }
  void forget(const std::string& pod) {
    std::erase_if(entries, [&pod](const RecordedDevices& entry) { return entry.podUid == pod; });
  }
  void write() { run(ledger.versionRead(version(), false, now)); }

  void newKubelet() {
    kubelet = {kubelet.inode + 1, now.wall};
    run(ledger.kubeletSeen(kubelet, now));
  }

  /// Begins an Allocate; answered at once if `answers` is on.
  CallId ask(std::string_view name, std::vector<std::string> ids) {
    const CallId id(++lastCall);
    Frame shown;
    const auto frames = ledger.frames();
    const auto found = frames.find(resource(name));
    if (found != frames.end()) shown = found->second;
    run(ledger.allocateAsked(id, {resource(name), std::move(ids), shown}, now));
    return id;
  }

  /// "granted", "waits", "done" or the reason code.
  std::string outcome(CallId id) const {
    const auto found = answers.find(id);
    if (found == answers.end()) return "waits";
    if (found->second.refusal) return found->second.refusal->reason;
    return found->second.response ? "granted" : "done";
  }
  std::string text(CallId id) const { return answers.at(id).refusal->text; }

  std::string allocate(std::string_view name, std::vector<std::string> ids) {
    return outcome(ask(name, std::move(ids)));
  }
  std::string preStart(std::string_view name, std::vector<std::string> ids) {
    const CallId id(++lastCall);
    run(ledger.preStartAsked(id, {resource(name), std::move(ids)}, now));
    return outcome(id);
  }
  /// `read`: for how long the claim was read before.
  CallId askPrepare(const std::string& uid, std::string_view name, const std::set<UnitId>& ids,
                    std::chrono::seconds read = {}) {
    const CallId id(++lastCall);
    run(ledger.prepareAsked(id, {{uid, "ns", "claim-" + uid}, {{resource(name), ids}}, parameters},
                            now.instant - read, now));
    return id;
  }
  std::string prepare(const std::string& uid, std::string_view name, const std::set<UnitId>& ids) {
    return outcome(askPrepare(uid, name, ids));
  }
  std::string unprepare(const std::string& uid) {
    const CallId id(++lastCall);
    run(ledger.unprepareAsked(id, {uid, "ns", "claim-" + uid}, now));
    return outcome(id);
  }

  /// Time goes by, with every deadline on the way kept.
  void pass(std::chrono::nanoseconds time) {
    const Instant until = now.instant + time;
    for (int rounds = 0;; ++rounds) {
      const auto due = ledger.nextDeadline();
      if (!due || *due > until) break;
      ASSERT_LT(rounds, 10'000) << "the ledger is never done";
      move(std::max(*due, now.instant) - now.instant);
      run(ledger.tick(now));
      const auto next = ledger.nextDeadline();
      ASSERT_TRUE(!next || *next > now.instant || !answersQuestions) << "due at once, again";
    }
    move(until - now.instant);
    run(ledger.tick(now));
  }
  void move(std::chrono::nanoseconds time) {
    now.instant += std::chrono::duration_cast<Instant::duration>(time);
    now.wall += time;
  }

  void use(std::uint32_t group, GroupUse use) { hardware.group(group).use = use; }

  Holding holding(std::string_view id) const { return ledger.holding(*UnitId::parse(id)); }

  /// "0000:01:00.0+ 0000:02:00.0-", '+' for Healthy.
  std::string frame(std::string_view name) const {
    std::string all;
    const auto frames = ledger.frames();
    const auto found = frames.find(resource(name));
    if (found == frames.end()) return "none";
    for (const FrameDevice& device : found->second.devices) {
      all += (all.empty() ? "" : " ") + device.id + (device.healthy ? "+" : "-");
    }
    return all;
  }

  bool told(std::string_view event) const {
    for (const JournalEvent& one : journal) {
      if (one.event == event) return true;
    }
    return false;
  }

  /// A probe is made only where the question says that it may be.
  GroupReading reread(IommuGroupId group, bool mayProbe = false) const {
    if (!hardware.snapshot().groups.contains(group)) return {GroupReading::Answer::kVanished, {}};
    const auto probed = mayProbe ? probe : GroupReading::Probe::kNone;
    return {GroupReading::Answer::kSeen, hardware.reread(group), probed, onFile,
            probed == GroupReading::Probe::kCannot ? "no privd-binder is here" : ""};
  }

  void run(const Effects& effects) {
    last = effects;
    journal.insert(journal.end(), effects.journal.begin(), effects.journal.end());
    for (const Answer& answer : effects.answers) {
      EXPECT_TRUE(answers.emplace(answer.call, answer).second) << "answered twice";
    }
    for (const UseQuestion& question : effects.questions) probesAsked += question.probe ? 1 : 0;
    if (answersQuestions) {
      for (const UseQuestion& question : effects.questions) {
        run(ledger.groupRead(question.group, reread(question.group, question.probe), question.call,
                             now));
      }
    }
    for (const CallId call : effects.specsToWrite) {
      if (writesSpecs) run(ledger.specWritten(call, true, now));
    }
    for (const ClaimName& claim : effects.specsToUnlink) {
      unlinked.push_back(claim.uid);
      if (writesSpecs) run(ledger.specUnlinked(claim.uid, true, now));
    }
    if (effects.beginReconcile && reconciles) doReconcile();
    if (effects.askList && reconciles) run(ledger.listRead(list, now.instant, now));
  }

  void doReconcile() {
    ++reconciled;
    run(ledger.listRead(list, now.instant, now));
    for (int i = 0; i < 2; ++i) {
      move(std::chrono::milliseconds(1));
      if (readable && streams) run(ledger.versionRead(version(), true, now));
    }
    run(ledger.reconcileEnded(readable && streams, now));
  }

  Hardware hardware;
  HardwareFacts facts;
  Settings settings;
  Ledger ledger;
  Moment now;
  KubeletIdentity kubelet;
  std::vector<RecordedDevices> entries;
  std::map<std::string, std::set<std::string>> registered;
  PodList list;
  std::vector<PrepareRequest> specs;
  std::optional<RecordedAllocations> recorded;    ///< what privd tells at the start
  std::map<UnitId, DeviceParameters> parameters;  ///< of the claims that are prepared
  GroupReading::Probe probe = GroupReading::Probe::kNone;
  bool onFile = true;  ///< privd can record allocations
  bool answersQuestions = true;
  bool writesSpecs = true;  ///< of claims
  std::string specsFail;    ///< why no static spec is written; empty: all are
  bool reconciles = true;
  bool readable = true;       ///< the checkpoint
  bool noCheckpoint = false;  ///< where it is not readable: it was never written
  bool streams = true;        ///< some resource is served to the kubelet
  int reconciled = 0;
  int probesAsked = 0;  ///< questions that allow one
  Effects last;
  std::vector<JournalEvent> journal;
  std::map<CallId, Answer> answers;
  std::vector<std::string> unlinked;
  std::uint64_t lastCall = 0;
};

}  // namespace vfiogate::test
