#include "plugind/privd/hardware_client.h"

#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

/// It answers within milliseconds, behind a sweep over a large node within a second or two. One
/// that is stopped, or whose read does not come back, keeps its socket open.
constexpr auto kAnswerPatience = 10 * kj::SECONDS;
constexpr const char* kSilent = "privd-hardware does not answer";
/// From a change's answer to the update that shows what it left.
constexpr auto kShowPatience = 10 * kj::SECONDS;
/// Between two rereads for that: what one saw may have changed again before it was told.
constexpr auto kShowPause = 500 * kj::MILLISECONDS;

DiscoveryCounts countsOf(capnp::List<std::uint64_t>::Reader told) {
  DiscoveryCounts counts;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(told.size(), kDiscoveryCounts); ++i) {
    counts[static_cast<DiscoveryCount>(i)] = told[i];
  }
  return counts;
}

}  // namespace

/// Cap'n Proto does not cancel a call that has come when its connection ends: it may be carried out
/// after the client is gone.
class HardwareClient::HardwareObserver final : public schema::Observer::Server {
public:
  explicit HardwareObserver(std::weak_ptr<HardwareClient*> client) : client_(std::move(client)) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    if (const auto client = client_.lock()) (*client)->take(context.getParams().getUpdate());
    return kj::READY_NOW;
  }

private:
  const std::weak_ptr<HardwareClient*> client_;
};

HardwareClient::HardwareClient(PrivdEvents& events, SessionCalls& calls,
                               const BindingView& bindings, kj::Timer& timer)
    : events_(events), calls_(calls), bindings_(bindings), timer_(timer) {}

kj::Promise<void> HardwareClient::subscribe() {
  awaitingWhole_ = true;
  auto request = KJ_ASSERT_NONNULL(calls_.session()).watchRequest();
  request.setObserver(kj::heap<HardwareObserver>(self_));
  return request.send().then([this](Response<schema::Session::WatchResults> response) {
    subscription_ = response.getSubscription();
  });
}

void HardwareClient::take(schema::Update::Reader update) {
  if (awaitingWhole_ && !update.isFull()) return;  // of the subscription before
  auto decoded = decode(update);
  if (!decoded) {
    calls_.hangUp("it sent an update that makes no sense: " + decoded.error().what);
    return;
  }
  if (hardware_.take(std::move(decoded).value()) == HardwareView::Taken::kMissing) {
    logWarning(LogEvent::kUpdateRefused,
               {{"why", "it does not follow the one before"}, {"then", "asked for the whole"}});
    resubscribing_ = subscribe().eagerlyEvaluate(
        [this](kj::Exception&& failure) { calls_.hangUp(failure.getDescription().cStr()); });
    return;
  }
  awaitingWhole_ = false;
  show();
}

void HardwareClient::bindingsChanged() {
  if (!awaitingWhole_) show();
}

void HardwareClient::show() {
  hardware_.complete(bindings_);
  events_.hardwareSeen(hardware_.snapshot());
  waiters_.remove_if([this](Waiter& waiter) {
    if (waiter.shown->isWaiting() && !hardware_.shows(waiter.seen)) return false;
    waiter.shown->fulfill();
    return true;
  });
}

kj::Promise<GroupReading> HardwareClient::reread(IommuGroupId group) {
  if (!hardware_.snapshot().groups.contains(group)) {
    return GroupReading{GroupReading::Answer::kVanished, {}};
  }
  KJ_IF_MAYBE (control, hardware_.control(group)) {
    return calls_.pass([this, client = kj::mv(*control)]() mutable {
      auto answered = client.rereadRequest().send().then(
          [this](Response<schema::GroupControl::RereadResults> response) {
            return takeReading(response.getAnswer());
          });
      return calls_.within(timer_, kAnswerPatience, kSilent, kj::mv(answered));
    });
  }
  return GroupReading{GroupReading::Answer::kFailed, {}};
}

GroupReading HardwareClient::takeReading(schema::RereadAnswer::Reader answer) {
  if (answer.isVanished()) return {GroupReading::Answer::kVanished, {}};
  if (!answer.isSeen()) return {GroupReading::Answer::kFailed, {}};
  auto decoded = decode(answer.getSeen());
  if (!decoded) {
    calls_.hangUp("it answered a reread with what makes no sense: " + decoded.error().what);
    return {GroupReading::Answer::kFailed, {}};
  }
  return {GroupReading::Answer::kSeen, std::move(decoded).value().snapshot};
}

kj::Promise<void> HardwareClient::untilShown(IommuGroupId group) {
  auto late = waitedInVain(timer_, kShowPatience).then([]() -> kj::Promise<void> {
    return KJ_EXCEPTION(OVERLOADED, "it takes more than 10 s");
  });
  return rereadUntilShown(group)
      .exclusiveJoin(kj::mv(late))
      .catch_([this](kj::Exception&& failure) -> kj::Promise<void> {
        calls_.hangUp(std::string("it never showed what a change of drivers left: ") +
                      failure.getDescription().cStr());
        return kj::mv(failure);
      });
}

kj::Promise<void> HardwareClient::rereadUntilShown(IommuGroupId group) {
  return reread(group).then([this, group](GroupReading reading) -> kj::Promise<void> {
    if (reading.answer != GroupReading::Answer::kSeen) return kj::READY_NOW;
    if (hardware_.shows(reading.seen)) return kj::READY_NOW;
    auto later =
        timer_.afterDelay(kShowPause).then([this, group]() { return rereadUntilShown(group); });
    return shown(std::move(reading.seen)).exclusiveJoin(kj::mv(later));
  });
}

kj::Promise<void> HardwareClient::shown(Snapshot seen) {
  auto pair = kj::newPromiseAndFulfiller<void>();
  waiters_.push_back({std::move(seen), kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

std::vector<Bdf> HardwareClient::membersOf(IommuGroupId group) {
  const auto found = hardware_.snapshot().groups.find(group);
  const bool ours =
      found != hardware_.snapshot().groups.end() && hardware_.control(group) != nullptr;
  return ours ? found->second.members : std::vector<Bdf>();
}

std::vector<UnitId> HardwareClient::unitsOf(IommuGroupId group) {
  const bool ours = hardware_.control(group) != nullptr;
  const auto units = ours ? vfiogate::unitsOf(hardware_.snapshot(), group) : std::set<UnitId>();
  return {units.begin(), units.end()};
}

kj::Promise<DiscoveryCounts> HardwareClient::discovery() {
  KJ_IF_MAYBE (session, calls_.session()) {
    if (!std::exchange(counting_, true)) counts_ = askForCounts(*session).fork();
    return counts_.addBranch();
  }
  return notInYet();
}

kj::Promise<DiscoveryCounts> HardwareClient::askForCounts(schema::Session::Client session) {
  return calls_.pass([this, session = kj::mv(session)]() mutable {
    auto answered = session.discoveryRequest().send().then(
        [](Response<schema::Session::DiscoveryResults> response) {
          return countsOf(response.getCounts());
        });
    return calls_.within(timer_, kAnswerPatience, kSilent, kj::mv(answered))
        .attach(kj::defer([this]() { counting_ = false; }));
  });
}

}  // namespace vfiogate
