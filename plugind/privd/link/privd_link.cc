#include "plugind/privd/link/privd_link.h"

#include "plugind/base/log_line.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

/// From the first half of a session to the log line about the other.
constexpr auto kWaitPatience = 2 * kj::SECONDS;
/// A group is opened within the second; what the hardware showed is of use without that, too.
constexpr auto kProbePatience = 10 * kj::SECONDS;
/// A visitor waits for the metrics, with or without privd's.
constexpr auto kCountsPatience = 50 * kj::MILLISECONDS;
constexpr const char* kAway = "privd is away";

using SpecTexts = Result<std::vector<std::string>, SpecTrouble>;

std::string programOf(PrivdRole role) {
  return std::string("privd-") + nameOf(role);
}

BindOutcome binderAway() {
  return {BindOutcome::Answer::kPrivdAway, "privd-binder is away"};
}

BindOutcome outcomeOf(const binder::Answer& answer) {
  switch (answer.outcome) {
    case binder::Answer::Outcome::kDone:
      return {};
    case binder::Answer::Outcome::kRefused:
      return {BindOutcome::Answer::kRefused, answer.why};
    case binder::Answer::Outcome::kFailed:
      return {BindOutcome::Answer::kFailed, answer.why};
    case binder::Answer::Outcome::kStuck:
      return {BindOutcome::Answer::kStuck, answer.why};
    case binder::Answer::Outcome::kVanished:
      return {BindOutcome::Answer::kVanished, {}};
    case binder::Answer::Outcome::kDenied:
      return {BindOutcome::Answer::kDenied, "see privd's --plugind-rights"};
  }
  return {BindOutcome::Answer::kFailed, "the binder's answer makes no sense"};
}

struct TriedProbe {
  GroupReading::Probe probe;
  std::string why;  ///< of kCannot
};

TriedProbe probeOf(IommuGroupId group, const binder::Probed& probed) {
  switch (probed.found) {
    case binder::Probed::Found::kIdle:
      return {GroupReading::Probe::kIdle, {}};
    case binder::Probed::Found::kOpen:
      return {GroupReading::Probe::kOpen, {}};
    case binder::Probed::Found::kDenied:
      return {GroupReading::Probe::kCannot, "privd's --plugind-rights have neither probe nor bind"};
    case binder::Probed::Found::kCannot:
      break;
  }
  return {GroupReading::Probe::kCannot, "privd-binder cannot open /dev/vfio/" +
                                            std::to_string(group.number()) + ": " +
                                            strerror(probed.error)};
}

TriedProbe unprobed(const kj::Exception& failure) {
  const bool silent = failure.getType() == kj::Exception::Type::OVERLOADED;
  return {GroupReading::Probe::kCannot,
          silent ? "privd-binder does not answer" : "no privd-binder is here"};
}

std::string whyUnread(int error) {
  if (error == ETIMEDOUT) return "the card does not answer privd-binder";
  if (error == EBUSY) return "privd-binder waits for cards that do not answer";
  return std::string("privd-binder cannot read its vital product data: ") + strerror(error);
}

SerialAnswer answerOf(binder::SerialTold told) {
  switch (told.found) {
    case binder::SerialTold::Found::kSerial:
      return {SerialAnswer::Found::kSerial, std::move(told.serial)};
    case binder::SerialTold::Found::kNone:
      return {SerialAnswer::Found::kNone, {}};
    case binder::SerialTold::Found::kDenied:
      return {SerialAnswer::Found::kNobody,
              "privd's --plugind-rights have neither serial nor bind"};
    case binder::SerialTold::Found::kCannot:
      break;
  }
  return {SerialAnswer::Found::kFailed, whyUnread(told.error)};
}

template <typename T>
kj::Promise<Result<T, SpecTrouble>> orTrouble(kj::Promise<Result<T, SpecTrouble>> answer) {
  return answer.catch_([](kj::Exception&& failure) {
    const bool away = failure.getType() == kj::Exception::Type::DISCONNECTED;
    const char* why = away ? kAway : failure.getDescription().cStr();
    return Result<T, SpecTrouble>(Failure{SpecTrouble{why, true}});
  });
}

}  // namespace

PrivdLink::PrivdLink(kj::AutoCloseFd listener, Users users, const LoopDeps& loop)
    : loop_(loop), listener_(kj::mv(listener), users, loop), tasks_(*this) {}

void PrivdLink::start(PrivdEvents& events, kj::Function<void(kj::AutoCloseFd, Visitor)> visitor) {
  events_ = &events;
  listener_.start(
      {.privd = [this](PrivdRole role, kj::AutoCloseFd fd) { arrived(role, kj::mv(fd)); },
       .failed = [this](const std::string& why) { tellFailure(LogEvent::kHandshakeFailed, why); },
       .visitor = kj::mv(visitor)});
}

std::vector<PrivdRole> PrivdLink::away() const {
  std::vector<PrivdRole> away;
  for (const PrivdRole role : {PrivdRole::kHardware, PrivdRole::kGate, PrivdRole::kBinder}) {
    if (!listener_.isIn(role)) away.push_back(role);
  }
  return away;
}

void PrivdLink::arrived(PrivdRole role, kj::AutoCloseFd connection) {
  if (role == PrivdRole::kBinder) return beginBinder(kj::mv(connection));
  if (waiting_.get() == nullptr) return await(role, kj::mv(connection));
  kj::AutoCloseFd other = waiting_->take();
  waitingEnds_ = nullptr;
  waiting_ = nullptr;
  if (role == PrivdRole::kHardware) return begin({kj::mv(connection), kj::mv(other)});
  begin({kj::mv(other), kj::mv(connection)});
}

void PrivdLink::await(PrivdRole role, kj::AutoCloseFd connection) {
  waiting_ = kj::heap<WaitingRole>(role, kj::mv(connection), loop_);
  auto told = loop_.timer.afterDelay(kWaitPatience).then([this, role]() -> kj::Promise<void> {
    // It may leave and come back for as long as it waits.
    if (std::exchange(incompleteTold_, true)) return kj::NEVER_DONE;
    const PrivdRole other = role == PrivdRole::kGate ? PrivdRole::kHardware : PrivdRole::kGate;
    logWarning(LogEvent::kPrivdIncomplete,
               {{"here", programOf(role)},
                {"away", programOf(other)},
                {"then", "nothing new is registered or allocated until it is there"}});
    return kj::NEVER_DONE;
  });
  waitingEnds_ = waiting_->over()
                     .exclusiveJoin(kj::mv(told))
                     .then([this]() {
                       listener_.setAway(waiting_->role());
                       waiting_ = nullptr;
                     })
                     .eagerlyEvaluate(nullptr);
}

void PrivdLink::begin(PrivdWays ways) {
  there_ = true;
  incompleteTold_ = false;
  session_ = kj::heap<PrivdSession>(kj::mv(ways), *events_, lease_, bindings_, loop_);
  tasks_.add(session_->run().then([this](std::string why) { over(why); }));
}

void PrivdLink::over(const std::string& why) {
  if (session_->entered()) lastFailure_.clear();
  tellFailure(session_->entered() ? LogEvent::kPrivdWent : LogEvent::kHandshakeFailed, why);
  tellGone();
  session_ = nullptr;
  listener_.setAway(PrivdRole::kGate);
  listener_.setAway(PrivdRole::kHardware);
}

void PrivdLink::beginBinder(kj::AutoCloseFd channel) {
  binder_ = kj::heap<ChannelToBinder>(
      kj::mv(channel), [this](binder::Changed changed) { return binderTold(std::move(changed)); },
      loop_);
  tasks_.add(binder_->run().then([this](std::string why) { binderOver(why); }));
}

bool PrivdLink::binderTold(binder::Changed changed) {
  const bool first = bindings_.right() == RightToBind::kBinderAway;
  const auto taken = bindings_.take(std::move(changed));
  if (taken != BindingView::Taken::kWhole) return taken == BindingView::Taken::kPart;
  if (first) {
    lastBinderFailure_.clear();
    logInfo(LogEvent::kBinderCame, {{"binds", bindings_.right() == RightToBind::kGiven}});
  }
  bindingsChanged();
  return true;
}

void PrivdLink::binderOver(const std::string& why) {
  if (std::exchange(lastBinderFailure_, why) != why) {
    logWarning(LogEvent::kBinderWent, {{"why", why}});
  }
  bindings_.binderWent();
  listener_.setAway(PrivdRole::kBinder);
  binder_ = nullptr;
  bindingsChanged();
}

void PrivdLink::bindingsChanged() {
  if (there_) session_->bindingsChanged();
}

void PrivdLink::tellFailure(LogEvent event, const std::string& why) {
  // A privd of another release dials for as long as it runs: the same reason is told once.
  if (why == lastFailure_) return;
  lastFailure_ = why;
  logWarning(event, {{"why", why}});
}

void PrivdLink::tellGone() {
  if (std::exchange(there_, false)) events_->privdWent();
}

kj::Promise<GroupReading> PrivdLink::reread(IommuGroupId group) {
  if (!there_) return GroupReading{GroupReading::Answer::kPrivdAway, {}};
  return session_->reread(group).catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) {
      return GroupReading{GroupReading::Answer::kFailed, {}};
    }
    tellGone();
    return GroupReading{GroupReading::Answer::kPrivdAway, {}};
  });
}

kj::Promise<GroupReading> PrivdLink::rereadAndProbe(IommuGroupId group) {
  return reread(group).then([this, group](GroupReading reading) -> kj::Promise<GroupReading> {
    const auto seen = reading.seen.groups.find(group);
    const bool silent = reading.answer == GroupReading::Answer::kSeen &&
                        seen != reading.seen.groups.end() && isSilent(seen->second.use);
    return silent ? probe(group, std::move(reading)) : std::move(reading);
  });
}

kj::Promise<GroupReading> PrivdLink::probe(IommuGroupId group, GroupReading reading) {
  auto asked = binder_.get() == nullptr
                   ? kj::Promise<binder::Probed>(KJ_EXCEPTION(DISCONNECTED, "privd-binder is away"))
                   : binder_->probe(group);
  return loop_.timer.timeoutAfter(kProbePatience, kj::mv(asked))
      .then([group](const binder::Probed& probed) { return probeOf(group, probed); },
            [](kj::Exception&& failure) { return unprobed(failure); })
      .then([reading = std::move(reading)](TriedProbe probe) mutable {
        reading.probe = probe.probe;
        reading.noProbe = std::move(probe.why);
        return std::move(reading);
      });
}

kj::Promise<SerialAnswer> PrivdLink::serialOf(const Bdf& device) {
  auto asked = binder_.get() == nullptr
                   ? kj::Promise<binder::SerialTold>(KJ_EXCEPTION(DISCONNECTED, "it is away"))
                   : binder_->serialOf(device);
  return asked.then([](binder::SerialTold told) { return answerOf(std::move(told)); },
                    [](kj::Exception&& /*away*/) {
                      return SerialAnswer{SerialAnswer::Found::kNobody,
                                          "no privd-binder is here that would read it"};
                    });
}

kj::Promise<Told> PrivdLink::unlessAway(kj::Promise<Told> told) {
  return told.catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) return Told::kFailed;
    tellGone();
    return Told::kPrivdAway;
  });
}

kj::Promise<Told> PrivdLink::allocate(IommuGroupId group, const std::string& note) {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->allocate(group, note));
}

kj::Promise<Told> PrivdLink::release(IommuGroupId group) {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->release(group));
}

kj::Promise<Told> PrivdLink::adopted() {
  if (!there_) return Told::kPrivdAway;
  return unlessAway(session_->adopted());
}

kj::Promise<BindOutcome> PrivdLink::unlessAway(kj::Promise<BindOutcome> outcome) {
  return outcome.catch_([this](kj::Exception&& failure) {
    if (failure.getType() != kj::Exception::Type::DISCONNECTED) {
      return BindOutcome{BindOutcome::Answer::kFailed, failure.getDescription().cStr()};
    }
    tellGone();
    return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  });
}

kj::Promise<BindOutcome> PrivdLink::change(IommuGroupId group, DriverChange change) {
  if (!there_) return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  return unlessAway(session_->change(group, [this, change](std::vector<Bdf> members) {
    return askBinder(change, std::move(members));
  }));
}

kj::Promise<BindOutcome> PrivdLink::askBinder(DriverChange change, std::vector<Bdf> members) {
  if (binder_.get() == nullptr) return binderAway();
  return binder_->ask(change, std::move(members))
      .then([](const binder::Answer& answer) { return outcomeOf(answer); },
            [](kj::Exception&& /*away*/) { return binderAway(); });
}

kj::Promise<std::optional<DiscoveryCounts>> PrivdLink::discovery() {
  if (!there_) return std::optional<DiscoveryCounts>();
  return loop_.timer.timeoutAfter(kCountsPatience, session_->hardware().discovery())
      .then([](DiscoveryCounts counts) { return std::optional(counts); },
            [](kj::Exception&& /*failure*/) { return std::optional<DiscoveryCounts>(); });
}

kj::Promise<std::optional<SpecAnswer>> PrivdLink::declareSpecs(
    const std::vector<StaticSpec>& specs) {
  if (!there_) return std::optional<SpecAnswer>();
  // Where it fails the session ends.
  return session_->specs()
      .declareSpecs(specs, session_->hardware().snapshot())
      .then([](SpecAnswer answer) { return std::optional(std::move(answer)); },
            [](kj::Exception&& /*away*/) { return std::optional<SpecAnswer>(); });
}

kj::Promise<SpecTexts> PrivdLink::writeClaimSpec(const ClaimSpec& spec) {
  if (!there_) return SpecTexts(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->specs().writeClaimSpec(spec, session_->hardware().snapshot()));
}

kj::Promise<Result<Done, SpecTrouble>> PrivdLink::unlinkClaimSpec(const std::string& uid) {
  if (!there_) return Result<Done, SpecTrouble>(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->specs().unlinkClaimSpec(uid));
}

kj::Promise<SpecTexts> PrivdLink::claimSpecTexts() {
  if (!there_) return SpecTexts(Failure{SpecTrouble{kAway, true}});
  return orTrouble(session_->specs().claimSpecTexts());
}

template <typename T, typename Ask>
kj::Promise<Result<T, SocketRefusal>> PrivdLink::askGate(Ask ask) {
  if (!there_) return Result<T, SocketRefusal>(Failure{SocketRefusal{kAway}});
  return ask(session_->gate()).catch_([](kj::Exception&& failure) {
    return Result<T, SocketRefusal>(Failure{SocketRefusal{failure.getDescription().cStr()}});
  });
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdLink::dialKubelet() {
  return askGate<kj::AutoCloseFd>([](GateClient& gate) { return gate.dialKubelet(); });
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdLink::listenFor(
    const ResourceName& resource) {
  return askGate<PluginSocket>([&](GateClient& gate) { return gate.listenFor(resource); });
}

kj::Promise<Result<PluginSocket, SocketRefusal>> PrivdLink::listenForDra(const std::string& driver,
                                                                         DraSocket socket) {
  return askGate<PluginSocket>([&](GateClient& gate) { return gate.listenForDra(driver, socket); });
}

kj::Promise<Result<CheckpointFile, SocketRefusal>> PrivdLink::checkpoint() {
  return askGate<CheckpointFile>([](GateClient& gate) { return gate.checkpoint(); });
}

kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> PrivdLink::dialPodResources() {
  return askGate<kj::AutoCloseFd>([](GateClient& gate) { return gate.dialPodResources(); });
}

void PrivdLink::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "privd_link"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
