#include "plugind/privd/privd_link.h"

#include "plugind/base/log_line.h"

#include <utility>

namespace vfiogate {
namespace {

/// A visitor waits for the metrics, with or without privd's.
constexpr auto kCountsPatience = 50 * kj::MILLISECONDS;
constexpr const char* kAway = "privd is away";

using SpecTexts = Result<std::vector<std::string>, SpecTrouble>;

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
      {.privd = [this](PrivdOpening opening) { begin(kj::mv(opening)); },
       .failed = [this](const std::string& why) { tellFailure(LogEvent::kHandshakeFailed, why); },
       .visitor = kj::mv(visitor)});
}

void PrivdLink::begin(PrivdOpening opening) {
  listener_.privdIsIn(true);
  there_ = true;
  session_ = kj::heap<PrivdSession>(kj::mv(opening), *events_, lease_, loop_);
  tasks_.add(session_->run().then([this](std::string why) { over(why); }));
}

void PrivdLink::over(const std::string& why) {
  if (session_->entered()) lastFailure_.clear();
  tellFailure(session_->entered() ? LogEvent::kPrivdWent : LogEvent::kHandshakeFailed, why);
  tellGone();
  session_ = nullptr;
  listener_.privdIsIn(false);
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

kj::Promise<BindOutcome> PrivdLink::bind(IommuGroupId group) {
  if (!there_) return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  return unlessAway(session_->hardware().bind(group));
}

kj::Promise<BindOutcome> PrivdLink::giveBack(IommuGroupId group) {
  if (!there_) return BindOutcome{BindOutcome::Answer::kPrivdAway, {}};
  return unlessAway(session_->hardware().giveBack(group));
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
