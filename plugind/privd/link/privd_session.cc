#include "plugind/privd/link/privd_session.h"

#include "ipc/codec/limits.h"
#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// privd-hardware answers at once, or is not it.
constexpr auto kEnterPatience = 5 * kj::SECONDS;
/// As the gate has for each of its answers: its disk may be slow.
constexpr auto kFilesPatience = 10 * kj::SECONDS;

std::string describe(const kj::Exception& exception) {
  return exception.getDescription().cStr();
}

/// Why a session did not come about; the exchange of versions comes first in it.
std::string whyNotEntered(schema::EnterAnswer::Reader answer) {
  if (!answer.isWrongProtocol()) return "it answered the exchange of versions with nonsense";
  return "it speaks protocol " + std::to_string(answer.getWrongProtocol()) + ", this is protocol " +
         std::to_string(schema::PROTOCOL) + ": update both to the same release";
}

}  // namespace

PrivdSession::PrivdSession(PrivdWays ways, PrivdEvents& events, NodeLease& lease,
                           BindingView& bindings, const LoopDeps& loop)
    : events_(events),
      bindings_(bindings),
      loop_(loop),
      privd_(loop.streams, loop.timer, kj::mv(ways.hardware)),
      calls_(),
      channel_(kj::mv(ways.gate), calls_, loop),
      entry_(channel_, calls_, lease, loop.timer),
      gate_(channel_, calls_),
      allocations_(channel_, loop.timer),
      hardware_(events, calls_, bindings, loop.timer),
      specs_(channel_, calls_),
      exclusions_(channel_, calls_),
      files_(events),
      config_(gate_, events, loop.timer) {}

PrivdSession::~PrivdSession() noexcept(false) {
  calls_.end();
}

kj::Promise<std::string> PrivdSession::run() {
  // At once, whatever the gate is waited for: the hardware process waits 10 s for it, and before
  // that nothing is read, so that its end is not seen.
  handshake_ = shakeHands().eagerlyEvaluate(nullptr);
  auto left = privd_.ended();
  auto served = calls_.keep(enter()).then(
      []() -> kj::Promise<std::string> { return kj::NEVER_DONE; },
      [](kj::Exception&& failure) -> kj::Promise<std::string> { return describe(failure); });
  return left.exclusiveJoin(calls_.over()).exclusiveJoin(kj::mv(served));
}

kj::Promise<void> PrivdSession::enter() {
  return entry_.run()
      .then([this](const RecordedAllocations& recorded) {
        events_.allocationsTold(recorded);
        // The files first: what the hardware starts wants their sockets at once.
        return takeFiles(calls_.within(loop_.timer, kFilesPatience,
                                       "its gate does not tell of the kubelet's sockets",
                                       channel_.nextFiles()));
      })
      .then([this]() {
        watching_ = watchFiles().eagerlyEvaluate([](kj::Exception&& /*away*/) {});
        return calls_.within(loop_.timer, kEnterPatience, "privd-hardware does not answer",
                             subscribe());
      })
      .then([this]() {
        entered_ = true;
        config_.seen(lastFiles_.configuration);
        logInfo(LogEvent::kPrivdCame);
      });
}

kj::Promise<void> PrivdSession::subscribe() {
  return handshake_.then([this]() {
    tellRight();
    events_.socketsAvailable();
    return hardware_.subscribe();
  });
}

kj::Promise<void> PrivdSession::shakeHands() {
  auto request = privd_.bootstrap<schema::Handshake>().enterRequest();
  request.setProtocol(schema::PROTOCOL);
  return request.send().then(
      [this](Response<schema::Handshake::EnterResults> response) -> kj::Promise<void> {
        const auto answer = response.getAnswer();
        if (!answer.isSession()) {
          calls_.hangUp(whyNotEntered(answer));
          return kj::NEVER_DONE;
        }
        calls_.begin(answer.getSession());
        return kj::READY_NOW;
      });
}

kj::Promise<void> PrivdSession::takeFiles(kj::Promise<gate::WatchedFiles> told) {
  return told.then([this](gate::WatchedFiles files) {
    lastFiles_ = files;
    files_.seen(lastFiles_);
    if (entered_) config_.seen(lastFiles_.configuration);
    return takeExclusions();
  });
}

kj::Promise<void> PrivdSession::takeExclusions() {
  if (excluded_ == lastFiles_.exclusions) return kj::READY_NOW;
  excluded_ = lastFiles_.exclusions;
  return exclusions_.read().then([this](std::set<UnitId> devices) {
    bindings_.exclude(std::move(devices));
    hardware_.bindingsChanged();
  });
}

void PrivdSession::bindingsChanged() {
  if (!toldRight_) return;
  tellRight();
  hardware_.bindingsChanged();
}

void PrivdSession::tellRight() {
  if (std::exchange(toldRight_, bindings_.right()) != bindings_.right()) {
    events_.rightToBindTold(bindings_.right());
  }
}

kj::Promise<void> PrivdSession::watchFiles() {
  return takeFiles(channel_.nextFiles()).then([this]() { return watchFiles(); });
}

kj::Promise<GroupReading> PrivdSession::reread(IommuGroupId group) {
  // A note may be renewed while the hardware is reread.
  auto recorded = [this, group](GroupReading reading) {
    return allocations_.onFile(group).then([reading = std::move(reading)](bool onFile) mutable {
      reading.onFile = onFile;
      return std::move(reading);
    });
  };
  return calls_.keep(allocations_.onFile(group)
                         .then([this, group](bool) { return hardware_.reread(group); })
                         .then(kj::mv(recorded)));
}

kj::Promise<BindOutcome> PrivdSession::change(IommuGroupId group, AskBinder ask) {
  auto members = hardware_.membersOf(group);
  if (members.empty()) return BindOutcome{BindOutcome::Answer::kVanished, {}};
  bindings_.changeBegins(group);
  auto changing =
      kj::heap(kj::defer([&bindings = bindings_, group]() { bindings.changeEnded(group); }));
  auto asked = [ask = kj::mv(ask), members = std::move(members)]() mutable {
    return ask(std::move(members));
  };
  auto shown = [this, group](BindOutcome outcome) {
    return hardware_.untilShown(group).then([outcome = std::move(outcome)]() { return outcome; });
  };
  auto over = [this, changing = kj::mv(changing)](BindOutcome outcome) mutable {
    changing = nullptr;
    hardware_.bindingsChanged();
    return outcome;
  };
  return calls_.keep(allocations_.onFile(group)
                         .ignoreResult()
                         .then(kj::mv(asked))
                         .then(kj::mv(shown))
                         .then(kj::mv(over)));
}

kj::Promise<Told> PrivdSession::allocate(IommuGroupId group, const std::string& note) {
  auto members = hardware_.unitsOf(group);
  if (members.empty()) return Told::kFailed;
  return calls_.keep(allocations_.allocate(group, std::move(members), note));
}

kj::Promise<Told> PrivdSession::release(IommuGroupId group) {
  return calls_.keep(allocations_.release(group, hardware_.unitsOf(group)));
}

}  // namespace vfiogate
