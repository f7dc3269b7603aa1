#include "plugind/core/ledger/frames/frames.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace vfiogate {
namespace {

constexpr const char* kFlapping = "flapping";
constexpr const char* kBindFailed = "bind-failed";
constexpr const char* kGone = "gone";

/// What stands against one device, without regard to who holds it.
struct Judgement {
  const ResourceName* resource;  ///< null: none; of the state
  Bar bar;                       ///< empty reason: nothing
  bool changing = false;         ///< its drivers are being changed: what comes of it is not known
};

std::map<UnitId, Judgement> judgeOffers(const LedgerState& state) {
  std::map<UnitId, Judgement> offers;
  for (const auto& [address, why] : state.catalog.leftOut) {
    offers.emplace_hint(offers.end(), address, Judgement{nullptr, {why.reason, why.text}});
  }
  for (const auto& [name, resource] : state.catalog.resources) {
    for (const UnitId& address : resource.devices) {
      const auto judged = judgeReadiness(state.hardware, name, {address}, resource.allocation);
      offers.emplace_hint(offers.end(), address,
                          Judgement{&name, allocatable(judged) ? Bar{} : judged.bar,
                                    judged.readiness == Readiness::kBinding});
    }
  }
  return offers;
}

/// Journal lines, joined where they differ by the device only.
class Lines {
public:
  void add(const std::string& event, const Bar& bar, const ResourceName* resource,
           const UnitId& address) {
    const auto named = resource == nullptr ? std::nullopt : std::optional(*resource);
    Line& line = lines_[{event, bar.reason, named}];
    line.text = line.ids.empty() ? bar.text : "";
    line.ids.insert(address);
  }

  void writeTo(Turn& turn) const {
    for (const auto& [key, line] : lines_) {
      const auto& [name, reason, resource] = key;
      JournalEvent event{.event = name, .time = turn.now.seconds(), .resource = resource};
      event.ids = line.ids;
      event.reason = reason;
      event.text = line.text;
      turn.out.journal.push_back(std::move(event));
    }
  }

private:
  struct Line {
    std::set<UnitId> ids;
    std::string text;  ///< where it is about one device only
  };
  std::map<std::tuple<std::string, std::string, std::optional<ResourceName>>, Line> lines_;
};

Bar barOfRest(const OfferTrack& track) {
  if (track.bindFailed) return {kBindFailed, "could not be bound: shown Unhealthy for a while"};
  return {kFlapping, "comes and goes: shown Unhealthy until it is steady"};
}

/// Nothing is told of a device as offered that somebody already has when it is first heard of: its
/// end says that it is free.
bool isHeld(const LedgerState& state, const UnitId& address) {
  return std::ranges::any_of(state.records, [&address](const HolderRecord& record) {
    return record.members.contains(address);
  });
}

void tell(Lines& lines, OfferTrack& track, const Judgement& offer, const UnitId& address,
          std::chrono::sys_seconds now) {
  const bool rests = offer.bar.reason.empty() && track.restUntil;
  const Bar bar = rests ? barOfRest(track) : offer.bar;
  if (track.told == bar.reason) return;
  track.told = bar.reason;
  track.toldAt = now;
  if (bar.reason.empty()) {
    lines.add("offered", {"ready", ""}, offer.resource, address);
  } else {
    lines.add("withheld", bar, offer.resource, address);
  }
}

void countFlip(OfferTrack& track, Instant now, std::chrono::milliseconds rest) {
  std::erase_if(track.flips, [now](Instant flip) { return now - flip >= timing::kFlapWindow; });
  track.flips.push_back(now);
  if (track.flips.size() > timing::kMostFlips + 1) track.flips.erase(track.flips.begin());
  if (rest.count() > 0 && (track.flips.size() > timing::kMostFlips || track.restUntil)) {
    track.restUntil = now + rest;
    track.flips.erase(track.flips.begin(), track.flips.end() - 1);
  }
}

}  // namespace

void tellOffers(Turn& turn, bool flips) {
  LedgerState& state = turn.state;
  if (!state.begun) return;  // who has what is not read yet
  auto offers = judgeOffers(state);
  for (auto& [address, track] : state.offers) {
    const bool vanished = !offers.contains(address);
    if (!vanished) continue;
    const ResourceName* last = track.resource ? &*track.resource : nullptr;
    offers.emplace(address, Judgement{last, {kGone, "unplugged or removed"}});
  }
  Lines lines;
  for (const auto& [address, offer] : offers) {
    const auto entry = state.offers.try_emplace(address).first;
    OfferTrack& track = entry->second;
    if (offer.changing) continue;  // most often our own bind: no news, and no flap
    const bool good = offer.bar.reason.empty();
    const bool first = !track.told;
    if (!first && flips && good != track.good)
      countFlip(track, turn.now.instant, state.settings.holdDown);
    track.good = good;
    if (offer.resource != nullptr) track.resource = *offer.resource;
    if (first && good && isHeld(state, address)) continue;
    tell(lines, track, offer, address, turn.now.seconds());
  }
  std::erase_if(state.offers, [&](const auto& entry) {  // nothing to remember of it
    const OfferTrack& track = entry.second;
    const bool steady =
        track.flips.empty() || turn.now.instant - track.flips.back() >= timing::kFlapWindow;
    return track.told == kGone && steady;
  });
  lines.writeTo(turn);
}

void restUnbound(Turn& turn, const std::set<UnitId>& members) {
  const auto rest = turn.state.settings.holdDown;
  if (rest.count() == 0) return;
  for (const UnitId& member : members) {
    const auto track = turn.state.offers.find(member);
    if (track == turn.state.offers.end()) continue;
    track->second.restUntil = turn.now.instant + rest;
    track->second.bindFailed = true;
  }
  tellOffers(turn, false);
}

void endRests(Turn& turn) {
  bool ended = false;
  for (auto& [address, track] : turn.state.offers) {
    if (!track.restUntil || *track.restUntil > turn.now.instant) continue;
    track.restUntil.reset();
    track.bindFailed = false;
    track.flips.clear();
    ended = true;
  }
  if (ended) tellOffers(turn, false);
}

std::optional<Instant> restDue(const LedgerState& state) {
  std::optional<Instant> due;
  for (const auto& [address, track] : state.offers) {
    if (track.restUntil && (!due || *track.restUntil < *due)) due = track.restUntil;
  }
  return due;
}

bool restsUnbound(const LedgerState& state, const UnitId& id) {
  const auto track = state.offers.find(id);
  return track != state.offers.end() && track->second.bindFailed;
}

bool isResting(const LedgerState& state, const UnitId& id) {
  const auto track = state.offers.find(id);
  return track != state.offers.end() && track->second.restUntil.has_value();
}

}  // namespace vfiogate
