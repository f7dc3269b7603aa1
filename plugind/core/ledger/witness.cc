// What is read of the kubelet's memory, and what its silence proves (ledger.md 4).

#include <algorithm>

#include "plugind/core/group_members.h"
#include "plugind/core/ledger/look_plan.h"
#include "plugind/core/ledger/rows.h"

namespace vfiogate {
namespace {

/// The resource is ours, or the device is: another name does not make it somebody else's.
bool isOurs(const LedgerState& state, const ResourceName& resource, const Bdf& id) {
  if (state.catalog.resources.contains(resource) || state.shown.contains(resource)) return true;
  return std::ranges::any_of(state.catalog.resources, [&id](const auto& entry) {
    return std::ranges::binary_search(entry.second.devices, id);
  });
}

std::set<Bdf> oursOf(const LedgerState& state, const ResourceName& resource,
                     const std::set<std::string>& texts) {
  std::set<Bdf> ids;
  for (const std::string& text : texts) {
    const auto id = Bdf::parse(text);
    if (id && isOurs(state, resource, *id)) ids.insert(*id);
  }
  return ids;
}

bool absentTwice(const Evidence& evidence) {
  return evidence.absentFirst && evidence.absentLast &&
         *evidence.absentLast - *evidence.absentFirst >= timing::kReadingGap;
}

/// Folds a version's silence about a record.
void readSilence(Turn& turn, HolderRecord& record, const CheckpointVersion& version, bool inLook) {
  Evidence& evidence = record.evidence;
  const bool before = version.written < record.answeredWall ||
                      (evidence.namedIn && version.written <= *evidence.namedIn);
  if (before) return;
  if (!inLook) return wantLook(turn);
  if (!evidence.absentFirst || version.written < *evidence.absentFirst) {
    evidence.absentFirst = version.written;
  }
  if (!evidence.absentLast || version.written > *evidence.absentLast) {
    evidence.absentLast = version.written;
  }
  evidence.absentRead = turn.now.instant;
  if (!isForgotten(turn.state, record) || record.state != HolderState::kLent) return;
  record.state = HolderState::kForgotten;  // row 28
  record.stateSince = turn.now.instant;
  turn.out.journal.push_back(journalEvent(turn, record, "kubelet-forgot"));
}

/// Row 24: what of `rest` two versions do not know is nobody's.
void dropRest(HolderRecord& record, const std::set<Bdf>& named, WallTime written) {
  std::erase_if(record.rest, [&](const Bdf& id) {
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
bool speaksOf(const Mention& naming, const HolderRecord& record) {
  return naming.resource == record.resource && meet(naming.ids, record.ids);
}

/// A forgotten holder's pod, by one List.
void readPod(const Turn& turn, HolderRecord& record, const PodList& list, Instant asked) {
  Evidence& evidence = record.evidence;
  if (!record.podName) return;
  const bool others = std::ranges::any_of(list.devices, [&](const ListedDevices& listed) {
    return listed.podNamespace + "/" + listed.podName == *record.podName &&
           listed.resource == record.resource.str() && !listed.ids.empty();
  });
  if (others) {
    evidence.podLetGo = true;  // with its own devices it would have been named
    return;
  }
  if (list.pods.contains(*record.podName)) {
    evidence.unlistedSince.reset();
    return;
  }
  if (asked - turn.state.epochSince < timing::kLetGoGap) return;
  if (!evidence.unlistedSince) evidence.unlistedSince = asked;
  if (asked - *evidence.unlistedSince >= timing::kLetGoGap) evidence.podLetGo = true;
}

}  // namespace

std::vector<Mention> namingsOf(const LedgerState& state, const CheckpointVersion& version) {
  std::map<std::pair<std::string, ResourceName>, std::set<Bdf>> pods;
  for (const RecordedDevices& entry : version.entries) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource) continue;
    pods[{entry.podUid, *resource}].merge(oursOf(state, *resource, entry.ids));
  }
  std::vector<Mention> namings;
  for (const auto& [pod, ids] : pods) {
    if (ids.empty()) continue;
    namings.push_back({.resource = pod.second,
                       .ids = ids,
                       .podUid = pod.first,
                       .podName = std::nullopt,
                       .claim = std::nullopt,
                       .written = version.written,
                       .asked = std::nullopt});
  }
  return namings;
}

std::vector<Mention> namingsOf(const LedgerState& state, const PodList& list) {
  std::map<std::pair<std::string, ResourceName>, std::set<Bdf>> pods;
  for (const ListedDevices& entry : list.devices) {
    const auto resource = ResourceName::parse(entry.resource);
    if (!resource) continue;
    pods[{entry.podNamespace + "/" + entry.podName, *resource}].merge(
        oursOf(state, *resource, entry.ids));
  }
  std::vector<Mention> namings;
  for (const auto& [pod, ids] : pods) {
    if (ids.empty()) continue;
    namings.push_back({.resource = pod.second,
                       .ids = ids,
                       .podUid = std::nullopt,
                       .podName = pod.first,
                       .claim = std::nullopt,
                       .written = std::nullopt,
                       .asked = std::nullopt});
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
  // Older than the socket: it speaks for a kubelet that is gone.
  const bool ours = state.kubelet && version.written >= state.kubelet->changed;
  auto& kept = ours ? state.version : state.inherited;
  if (!kept || kept->written <= version.written) kept = version;
  return ours;
}

void readVersion(Turn& turn, const CheckpointVersion& version, bool inLook) {
  LedgerState& state = turn.state;
  if (!keepVersion(state, version)) return;
  const auto namings = namingsOf(state, version);
  std::set<Bdf> named;
  for (Mention naming : namings) {
    naming.joinsRest = inLook;
    named.insert(naming.ids.begin(), naming.ids.end());
    name(turn, naming);
  }
  for (HolderRecord& record : state.records) {
    if (record.isClaim()) continue;
    if (inLook && version.written >= record.answeredWall) dropRest(record, named, version.written);
    const bool spoken = std::ranges::any_of(
        namings, [&record](const Mention& naming) { return speaksOf(naming, record); });
    if (!spoken) readSilence(turn, record, version, inLook);
  }
}

void readList(Turn& turn, const PodList& list, Instant asked) {
  auto namings = namingsOf(turn.state, list);
  for (Mention& naming : namings) {
    naming.asked = asked;
    name(turn, naming);
  }
  for (HolderRecord& record : turn.state.records) {
    if (record.isClaim()) continue;
    Evidence& evidence = record.evidence;
    const bool listed = std::ranges::any_of(
        namings, [&record](const Mention& naming) { return speaksOf(naming, record); });
    if (evidence.listedLast && !listed) wantLook(turn);  // a reason to look, never a proof
    evidence.listedLast = listed;
    evidence.listed = evidence.listed || listed;
    if (record.state == HolderState::kForgotten && !listed) readPod(turn, record, list, asked);
  }
}

}  // namespace vfiogate
