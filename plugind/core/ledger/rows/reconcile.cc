// What is read of the kubelet's memory, and what its silence proves (ledger.md 4).

#include <algorithm>
#include <sstream>

#include "plugind/core/ledger/rows/reconcile_plan.h"
#include "plugind/core/ledger/rows/rows.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/set_units.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// The resource is ours, or a device of its group is: another name does not make it somebody
/// else's, and who has one member has the group.
bool isOurs(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  if (isServed(state, resource)) return true;
  const std::set<UnitId> members = reachOf(state, {id});
  return std::ranges::any_of(state.catalog.resources, [&members](const auto& entry) {
    return std::ranges::any_of(members, [&entry](const UnitId& member) {
      return std::ranges::binary_search(entry.second.devices, member);
    });
  });
}

std::set<UnitId> oursOf(const LedgerState& state, const ResourceName& resource,
                        const std::set<std::string>& texts) {
  std::set<UnitId> ids;
  for (const std::string& text : texts) {
    if (isSetId(text)) continue;  // setsIn()
    const auto id = unitNamed(state, text);
    if (id && isOurs(state, resource, *id)) ids.insert(*id);
    if (!id && isServed(state, resource)) ids.merge(devicesNamedBy(state, resource, text));
  }
  return ids;
}

/// "7f3a,7f3b".
std::set<std::string> refsIn(const std::string& text) {
  std::set<std::string> refs;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) refs.insert(word);
  return refs;
}

bool absentTwice(const Evidence& evidence) {
  return evidence.absentFirst && evidence.absentLast &&
         *evidence.absentLast - *evidence.absentFirst >= timing::kReadingGap;
}

/// Folds a version's silence about a record.
void readSilence(Turn& turn, HolderRecord& record, const CheckpointVersion& version,
                 bool inReconcile) {
  Evidence& evidence = record.evidence;
  const bool before = version.written < record.answeredWall ||
                      (evidence.namedIn && version.written < *evidence.namedIn);
  if (before) return;
  if (!inReconcile) return wantReconcile(turn);
  // Both within one tick of the clock of file times: which is the later one cannot be told.
  if (evidence.namedIn && version.written == *evidence.namedIn) return;
  if (!evidence.absentFirst || version.written < *evidence.absentFirst) {
    evidence.absentFirst = version.written;
  }
  if (!evidence.absentLast || version.written > *evidence.absentLast) {
    evidence.absentLast = version.written;
  }
  evidence.absentRead = turn.now.instant;
  if (!isForgotten(turn.state, record) || record.state != HolderState::kAllocated) return;
  record.state = HolderState::kForgotten;  // row 28
  record.stateSince = turn.now.instant;
  turn.out.journal.push_back(journalEvent(turn, record, "kubelet-forgot"));
}

/// Row 24: what of `rest` two versions do not know is nobody's.
void dropRest(HolderRecord& record, const std::set<UnitId>& named, WallTime written) {
  std::erase_if(record.rest, [&](const UnitId& id) {
    std::optional<WallTime>& first = record.restAbsent[id];
    if (named.contains(id)) {
      first.reset();
      return false;
    }
    if (!first) first = written;
    return written - *first >= timing::kReadingGap;
  });
  std::erase_if(record.restAbsent,
                [&](const auto& entry) { return !record.rest.contains(entry.first); });
}

/// True if the naming speaks of the record's own devices.
bool speaksOf(const KubeletEntry& naming, const HolderRecord& record) {
  return naming.resource == record.resource && meet(naming.ids, record.ids);
}

/// What a kubelet left is there after the next one made its socket, and it is what was read of it
/// last or has a part of that: the next one's memory goes on from there. `before`: what was read
/// last.
bool goesOn(const std::optional<CheckpointVersion>& before, const CheckpointVersion& left) {
  if (!before) return false;
  if (before->written == left.written) return true;
  return std::ranges::any_of(left.entries, [&before](const RecordedDevices& entry) {
    return std::ranges::find(before->entries, entry) != before->entries.end();
  });
}

/// The kubelets that named some of those whose grants the version has: it goes on from their
/// memory.
std::vector<KubeletIdentity> kubeletsBehind(const LedgerState& state,
                                            const CheckpointVersion& version) {
  std::vector<KubeletIdentity> found;
  for (const KubeletEntry& naming : entriesOf(state, version)) {
    for (const std::string& ref : naming.refs) {
      const auto named = state.namedBefore.find(ref);
      if (named != state.namedBefore.end()) found.push_back(named->second);
    }
  }
  return found;
}

/// Whom the kubelet before knew, this one has not forgotten: it may let them go.
void inherit(LedgerState& state, const CheckpointVersion& version) {
  const auto behind = kubeletsBehind(state, version);
  for (HolderRecord& record : state.records) {
    Evidence& evidence = record.evidence;
    if (record.isClaim() || !evidence.named || evidence.epochNamed == state.epoch) continue;
    const bool known =
        evidence.namedBy && std::ranges::find(behind, *evidence.namedBy) != behind.end();
    if (!known && evidence.epochNamed + 1 != state.epoch) continue;
    evidence.epochNamed = state.epoch;
    evidence.namedBy = state.kubelet;
  }
}

/// The checkpoint has these devices under another pod's UID.
bool isAnotherPods(const LedgerState& state, const HolderRecord& record,
                   const ListedDevices& listed) {
  if (!state.version || !record.podUid) return false;
  return std::ranges::any_of(state.version->entries, [&](const RecordedDevices& entry) {
    return entry.resource == listed.resource && entry.podUid != *record.podUid &&
           std::ranges::any_of(listed.ids,
                               [&entry](const std::string& id) { return entry.ids.contains(id); });
  });
}

/// The kubelet may have an asking pod in its list before it has it in its memory.
bool isAsked(const LedgerState& state) {
  return std::ranges::any_of(
      state.calls, [](const auto& entry) { return entry.second.kind == CallKind::kAllocate; });
}

/// A forgotten holder's pod, by one List. Lists have no UID: a pod of the same name that has
/// devices of the resource is another one, since with its own devices it would have been named.
void readPod(const Turn& turn, HolderRecord& record, const PodList& list, Instant asked) {
  Evidence& evidence = record.evidence;
  if (!record.podName) return;
  const bool another = std::ranges::any_of(list.devices, [&](const ListedDevices& listed) {
    const bool named = listed.podNamespace + "/" + listed.podName == *record.podName;
    const bool ofResource = listed.resource == record.resource.str() && !listed.ids.empty();
    return named && (ofResource || isAnotherPods(turn.state, record, listed));
  });
  if (another) {
    evidence.podLetGo = true;
    return;
  }
  if (list.pods.contains(*record.podName)) {
    if (!isAsked(turn.state)) evidence.unlistedSince.reset();
    return;
  }
  if (asked - turn.state.epochSince < timing::kListSettles) return;
  if (!evidence.unlistedSince) evidence.unlistedSince = asked;
  if (asked - *evidence.unlistedSince >= timing::kLetGoGap) evidence.podLetGo = true;
}

/// What it has in its memory, and wrote, says more than what the kubelet before it wrote last.
bool knowsInherited(const LedgerState& state) {
  return state.version && state.inheritedGoesOn;
}

/// F-E: what this kubelet may have lost. Who was named by it has a record, or had one; who has one
/// from elsewhere is not named by a kubelet before.
void nameLost(Turn& turn, const CheckpointVersion& version, std::uint64_t epochsAgo) {
  LedgerState& state = turn.state;
  for (KubeletEntry& naming : entriesOf(state, version)) {
    naming.epochsAgo = epochsAgo;
    std::erase_if(naming.ids, [&state](const UnitId& id) {
      return state.inheritedNaming.contains(id) ||
             !recordsMeeting(state, reachOf(state, {id})).empty();
    });
    state.inheritedNaming.insert(naming.ids.begin(), naming.ids.end());
    name(turn, naming);
  }
}

}  // namespace

std::vector<KubeletEntry> entriesOf(const LedgerState& state, const CheckpointVersion& version) {
  std::map<std::pair<std::string, ResourceName>, KubeletEntry> pods;
  for (const RecordedDevices& entry : version.entries) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource) continue;
    KubeletEntry& naming =
        pods.try_emplace({entry.podUid, *resource}, KubeletEntry{.resource = *resource,
                                                                 .ids = {},
                                                                 .podUid = entry.podUid,
                                                                 .podName = std::nullopt,
                                                                 .claim = std::nullopt,
                                                                 .written = version.written,
                                                                 .asked = std::nullopt})
            .first->second;
    naming.ids.merge(oursOf(state, *resource, entry.ids));
    for (const auto& [unit, set] : setsIn(state, entry)) {
      naming.ids.insert(unit);
      naming.sets.emplace(unit, set);
    }
    naming.byForeignIds =
        naming.byForeignIds || std::ranges::any_of(entry.ids, [&state](const std::string& id) {
          return !isSetId(id) && !unitNamed(state, id).has_value();
        });
    if (entry.ref) naming.refs.merge(refsIn(*entry.ref));
  }
  std::vector<KubeletEntry> namings;
  for (auto& [pod, naming] : pods) {
    if (!naming.ids.empty()) namings.push_back(std::move(naming));
  }
  return namings;
}

std::vector<KubeletEntry> entriesOf(const LedgerState& state, const PodList& list) {
  struct Named {
    std::set<UnitId> ids;
    std::map<UnitId, std::string> sets;
  };
  std::map<std::pair<std::string, ResourceName>, Named> pods;
  for (const ListedDevices& entry : list.devices) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource) continue;
    Named& named = pods[{entry.podNamespace + "/" + entry.podName, *resource}];
    named.ids.merge(oursOf(state, *resource, entry.ids));
    for (const auto& [unit, set] : setsNamed(state, *resource, entry.ids)) {
      named.ids.insert(unit);
      named.sets.emplace(unit, set);
    }
  }
  std::vector<KubeletEntry> namings;
  for (const auto& [pod, named] : pods) {
    if (named.ids.empty()) continue;
    namings.push_back({.resource = pod.second,
                       .ids = named.ids,
                       .podUid = std::nullopt,
                       .podName = pod.first,
                       .claim = std::nullopt,
                       .written = std::nullopt,
                       .asked = std::nullopt,
                       .sets = named.sets});
  }
  return namings;
}

bool isReleased(const LedgerState& state, const HolderRecord& record) {
  const Evidence& evidence = record.evidence;
  if (record.isClaim()) return evidence.claimLetGo;
  if (!absentTwice(evidence)) return false;
  if (evidence.named) return evidence.epochNamed == state.epoch;
  // The reply may wait in the kubelet: only a version read after that time proves its loss.
  return evidence.absentRead && *evidence.absentRead - record.since >= timing::kNeverNamed;
}

bool isForgotten(const LedgerState& state, const HolderRecord& record) {
  const Evidence& evidence = record.evidence;
  return !record.isClaim() && evidence.named && evidence.epochNamed != state.epoch &&
         absentTwice(evidence);
}

bool isLetGo(const LedgerState& state, const HolderRecord& record, Instant now) {
  if (record.state != HolderState::kForgotten) return isReleased(state, record);
  if (record.evidence.podLetGo) return true;
  return !record.podName && now - record.stateSince >= timing::kNamelessLetGo;
}

bool keepVersion(LedgerState& state, const CheckpointVersion& version) {
  const bool ours = isOwn(state, version);
  auto& kept = ours ? state.version : state.inherited;
  if (!kept || kept->written <= version.written) kept = version;
  return ours;
}

void readVersion(Turn& turn, const CheckpointVersion& version, bool inReconcile,
                 std::optional<Instant> asked) {
  LedgerState& state = turn.state;
  const bool continues = asked && *asked >= state.epochSince && goesOn(state.inherited, version);
  const bool ours = keepVersion(state, version);
  state.inheritedGoesOn =
      state.inheritedGoesOn || continues || (ours && goesOn(state.inherited, version));
  if (!ours) {
    if (!knowsInherited(state)) {
      noteForeignIds(turn, *state.inherited, false);
      nameLost(turn, *state.inherited, 1);
    }
    if (continues) inherit(state, version);
    return;
  }
  noteForeignIds(turn, version, true);
  const auto namings = entriesOf(state, version);
  std::set<UnitId> named;
  for (KubeletEntry naming : namings) {
    naming.joinsRest = inReconcile;
    named.insert(naming.ids.begin(), naming.ids.end());
    name(turn, naming);
  }
  for (HolderRecord& record : state.records) {
    if (record.isClaim()) continue;
    if (inReconcile && version.written >= record.answeredWall)
      dropRest(record, named, version.written);
    const bool spoken = std::ranges::any_of(
        namings, [&record](const KubeletEntry& naming) { return speaksOf(naming, record); });
    if (!spoken) readSilence(turn, record, version, inReconcile);
  }
}

void noteInherited(LedgerState& state) {
  state.inheritedNaming.clear();
  const auto note = [&state](const CheckpointVersion& version) {
    for (const KubeletEntry& naming : entriesOf(state, version)) {
      state.inheritedNaming.insert(naming.ids.begin(), naming.ids.end());
    }
  };
  if (state.inherited) note(*state.inherited);
  for (const LostMemory& lost : state.lost) note(lost.version);
}

void inheritVersion(LedgerState& state, Instant now) {
  std::erase_if(state.lost, [now](const LostMemory& lost) {
    return now - lost.since >= timing::kNamelessLetGo;
  });
  if (!state.version) return;
  if (state.inherited && !state.inheritedGoesOn) {
    state.lost.push_back({*std::move(state.inherited), now});
  }
  state.inherited = std::exchange(state.version, std::nullopt);
  noteInherited(state);
}

void readAgain(Turn& turn) {
  LedgerState& state = turn.state;
  const auto& kept = state.version ? state.version : state.inherited;
  if (!state.begun || !kept) return;
  noteForeignIds(turn, *kept, state.version.has_value());
  if (state.version) {
    for (const KubeletEntry& naming : entriesOf(state, *state.version)) name(turn, naming);
  }
  if (!knowsInherited(state) && state.inherited) nameLost(turn, *state.inherited, 1);
  // This kubelet lets nobody of it go: none before it went on from that memory.
  for (const LostMemory& lost : state.lost) {
    const bool counts = turn.now.instant - lost.since < timing::kNamelessLetGo;
    if (counts) nameLost(turn, lost.version, 2);
  }
}

void readList(Turn& turn, const PodList& list, Instant asked) {
  auto namings = entriesOf(turn.state, list);
  for (KubeletEntry& naming : namings) {
    naming.asked = asked;
    name(turn, naming);
  }
  for (HolderRecord& record : turn.state.records) {
    if (record.isClaim()) continue;
    Evidence& evidence = record.evidence;
    const bool listed = std::ranges::any_of(
        namings, [&record](const KubeletEntry& naming) { return speaksOf(naming, record); });
    if (evidence.listedLast && !listed) wantReconcile(turn);  // a reason, never a proof
    evidence.listedLast = listed;
    evidence.listed = evidence.listed || listed;
    if (record.state == HolderState::kForgotten && !listed) readPod(turn, record, list, asked);
  }
}

}  // namespace vfiogate
