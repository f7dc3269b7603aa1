#include "plugind/core/ledger/state/allocation_note.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>

#include "plugind/core/ledger/state/ledger_state.h"

namespace vfiogate {
namespace {

/// Longer than "namespace/name" of Kubernetes can be.
constexpr std::size_t kLongestName = 320;

bool isName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '/' || c == ':';
  });
}

template <typename Number>
std::optional<Number> numberIn(std::string_view text, int base = 10) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, base);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

/// The part before `mark`, which is taken off with it; the whole where there is none.
std::string_view takeWord(std::string_view& text, char mark) {
  const std::string_view word = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

std::optional<std::set<UnitId>> idsIn(std::string_view text) {
  std::set<UnitId> ids;
  while (!text.empty()) {
    const auto id = UnitId::parse(takeWord(text, ','));
    if (!id) return std::nullopt;
    ids.insert(*id);
  }
  if (ids.empty()) return std::nullopt;
  return ids;
}

std::optional<KubeletIdentity> kubeletIn(std::string_view text) {
  const auto inode = numberIn<std::uint64_t>(takeWord(text, ':'));
  const auto changed = numberIn<std::int64_t>(text);
  if (!inode || !changed) return std::nullopt;
  return KubeletIdentity{
      *inode, std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(*changed))};
}

/// Empty: none.
std::string setIn(std::string_view text) {
  return isSetId(text) ? std::string(text) : std::string();
}

constexpr const char* kTimeForm = "%Y-%m-%dT%H:%M:%SZ";

std::optional<std::chrono::sys_seconds> timeIn(std::string_view text) {
  std::tm parts{};
  if (strptime(std::string(text).c_str(), kTimeForm, &parts) == nullptr) return std::nullopt;
  const auto time = std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
  if (utcText(time) != text) return std::nullopt;
  return time;
}

std::map<std::string_view, std::string_view> fieldsOf(std::string_view line) {
  std::map<std::string_view, std::string_view> fields;
  while (!line.empty()) {
    std::string_view word = takeWord(line, ' ');
    const std::string_view key = takeWord(word, '=');
    fields.emplace(key, word);
  }
  return fields;
}

std::optional<NotedAllocation> allocationIn(std::string_view line) {
  auto fields = fieldsOf(line);
  const auto name = [&fields](std::string_view key) -> std::optional<std::string> {
    const auto found = fields.find(key);
    if (found == fields.end() || !isName(found->second)) return std::nullopt;
    return std::string(found->second);
  };
  const auto resource = ResourceName::parse(fields["resource"]);
  const auto ids = idsIn(fields["ids"]);
  const auto ref = numberIn<std::uint16_t>(fields["ref"], 16);
  const auto since = timeIn(fields["since"]);
  if (!resource || !ids || !ref || !since) return std::nullopt;
  return NotedAllocation{.resource = *resource,
                         .ids = *ids,
                         .set = setIn(fields["set"]),
                         .ref = HolderRef(*ref),
                         .since = *since,
                         .namedBy = kubeletIn(fields["named-by"]),
                         .podName = name("pod"),
                         .podUid = name("uid"),
                         .claim = name("claim"),
                         .hardware = fingerprintFrom(fields["hw"], *ids).value_or("")};
}

NotedAllocation notedOf(const HolderRecord& record) {
  NotedAllocation noted{.resource = record.resource,
                        .ids = record.ids,
                        .set = record.set,
                        .ref = record.ref,
                        .since = record.answeredAt,
                        .namedBy = record.evidence.namedBy,
                        .podName = record.podName,
                        .podUid = record.podUid,
                        .claim = std::nullopt};
  if (record.claim) {
    noted.claim = nameOf(*record.claim);
    noted.hardware = record.fingerprint;
  }
  return noted;
}

/// " ids=0000:01:00.0,0000:01:00.1".
std::string textOf(const std::set<UnitId>& ids) {
  std::string text = " ids=";
  for (const UnitId& id : ids) text += (text.ends_with('=') ? "" : ",") + id.str();
  return text;
}

/// The lines of each group, not yet joined: a party is one line, however often it is met.
using Lines = std::map<IommuGroupId, std::set<std::string>>;

void add(Lines& lines, const LedgerState& state, const std::set<UnitId>& members,
         const std::string& line) {
  for (const UnitId& member : members) {
    if (const auto group = groupNumber(state, {member})) lines[*group].insert(line);
  }
}

void addSuspected(Lines& lines, const LedgerState& state) {
  for (const auto& [resource, devices] : state.suspected) {
    std::map<IommuGroupId, std::set<UnitId>> moved;
    for (const UnitId& id : devices) {
      const auto group = groupNumber(state, {id});
      if (group && !hasDevice(state.catalog, resource, id)) moved[*group].insert(id);
    }
    for (const auto& [group, ids] : moved) {
      lines[group].insert("foreign=" + resource.str() + textOf(ids));
    }
  }
}

}  // namespace

std::string nameOf(const ClaimName& claim) {
  return claim.claimNamespace + "/" + claim.name;
}

std::string lineOf(const NotedAllocation& allocation) {
  std::string line = "resource=" + allocation.resource.str() + textOf(allocation.ids);
  if (!allocation.set.empty()) line += " set=" + allocation.set;
  line += " ref=" + allocation.ref.str() + " since=" + utcText(allocation.since);
  if (allocation.namedBy) {
    line += " named-by=" + std::to_string(allocation.namedBy->inode) + ":" +
            std::to_string(allocation.namedBy->changed.time_since_epoch().count());
  }
  const auto name = [&line](const char* key, const std::optional<std::string>& value) {
    if (value && isName(*value)) line += std::string(" ") + key + "=" + *value;
  };
  name("pod", allocation.podName);
  name("uid", allocation.podUid);
  name("claim", allocation.claim);
  const std::string hardware = notedHardware(allocation.hardware, allocation.ids);
  if (!hardware.empty()) line += " hw=" + hardware;
  return line;
}

std::string lineOf(const Call& call, const Take& take) {
  NotedAllocation noted{.resource = take.resource,
                        .ids = take.ids,
                        .set = take.set,
                        .ref = take.ref,
                        .since = take.since,
                        .namedBy = std::nullopt,
                        .podName = std::nullopt,
                        .podUid = std::nullopt,
                        .claim = std::nullopt};
  if (call.prepare) {
    noted.claim = nameOf(call.prepare->claim);
    noted.hardware = take.offered;
  }
  return lineOf(noted);
}

std::vector<NotedAllocation> allocationsIn(std::string_view note) {
  std::vector<NotedAllocation> allocations;
  while (!note.empty()) {
    if (auto read = allocationIn(takeWord(note, '\n'))) allocations.push_back(*std::move(read));
  }
  return allocations;
}

std::map<ResourceName, std::set<UnitId>> suspicionsIn(std::string_view note) {
  std::map<ResourceName, std::set<UnitId>> suspected;
  while (!note.empty()) {
    auto fields = fieldsOf(takeWord(note, '\n'));
    const auto resource = ResourceName::parse(fields["foreign"]);
    auto ids = idsIn(fields["ids"]);
    if (resource && ids) suspected[*resource].merge(*ids);
  }
  return suspected;
}

GroupNotes notesOf(const LedgerState& state) {
  Lines lines;
  for (const HolderRecord& record : state.records) {
    add(lines, state, record.members, lineOf(notedOf(record)));
    for (const HolderRecord& before : record.before) {
      add(lines, state, record.members, lineOf(notedOf(before)));
    }
  }
  for (const auto& [id, call] : state.calls) {
    if (call.again || call.kind == CallKind::kUnprepare) continue;  // of what has a record
    for (const auto& [group, take] : call.groups) {
      add(lines, state, take.members, lineOf(call, take));
    }
  }
  addSuspected(lines, state);
  GroupNotes notes;
  for (const auto& [group, each] : lines) {
    std::string& note = notes[group];
    for (const std::string& line : each) note += (note.empty() ? "" : "\n") + line;
  }
  return notes;
}

}  // namespace vfiogate
