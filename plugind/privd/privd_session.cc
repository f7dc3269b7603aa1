#include "plugind/privd/privd_session.h"

#include "ipc/codec/limits.h"
#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// privd answers at once, or is not privd.
constexpr auto kEnterPatience = 5 * kj::SECONDS;

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

PrivdSession::PrivdSession(PrivdOpening opening, PrivdEvents& events, NodeLease& lease,
                           const LoopDeps& loop)
    : events_(events),
      loop_(loop),
      privd_(loop.streams, kj::mv(opening.connection), kFromPrivd),
      calls_(),
      channel_(kj::mv(opening.channel), calls_, loop),
      entry_(channel_, calls_, lease, loop.timer),
      gate_(channel_, calls_),
      allocations_(channel_, loop.timer),
      hardware_(events, calls_, loop.timer),
      specs_(channel_, calls_),
      files_(events),
      config_(gate_, events, loop.timer) {}

PrivdSession::~PrivdSession() noexcept(false) {
  calls_.end();
}

kj::Promise<std::string> PrivdSession::run() {
  auto left = privd_.ended().then([]() { return std::string("it left"); });
  auto served = calls_.keep(enter()).then(
      []() -> kj::Promise<std::string> { return kj::NEVER_DONE; },
      [](kj::Exception&& failure) -> kj::Promise<std::string> { return describe(failure); });
  return left.exclusiveJoin(calls_.over()).exclusiveJoin(kj::mv(served));
}

kj::Promise<void> PrivdSession::enter() {
  return entry_.run().then([this](const RecordedAllocations& recorded) {
    events_.allocationsTold(recorded);
    // The files first: what the hardware starts wants their sockets at once.
    auto opened = takeFiles()
                      .then([this]() {
                        watching_ = watchFiles().eagerlyEvaluate([](kj::Exception&& /*away*/) {});
                        return enterRpc();
                      })
                      .then([this]() { return hardware_.subscribe(); });
    return loop_.timer.timeoutAfter(kEnterPatience, kj::mv(opened)).then([this]() {
      entered_ = true;
      config_.seen(lastFiles_.configuration);
      logInfo(LogEvent::kPrivdCame);
    });
  });
}

kj::Promise<void> PrivdSession::enterRpc() {
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
        events_.rightToBindTold(answer.getMayBind());
        events_.socketsAvailable();
        return kj::READY_NOW;
      });
}

kj::Promise<void> PrivdSession::takeFiles() {
  return channel_.nextFiles().then([this](gate::WatchedFiles files) {
    lastFiles_ = std::move(files);
    files_.seen(lastFiles_);
    if (entered_) config_.seen(lastFiles_.configuration);
  });
}

kj::Promise<void> PrivdSession::watchFiles() {
  return takeFiles().then([this]() { return watchFiles(); });
}

kj::Promise<GroupReading> PrivdSession::reread(IommuGroupId group) {
  return calls_.keep(allocations_.settled(group)
                         .then([this, group]() { return hardware_.reread(group); })
                         .then([this, group](GroupReading reading) {
                           reading.onFile = allocations_.isOnFile(group);
                           return reading;
                         }));
}

kj::Promise<Told> PrivdSession::allocate(IommuGroupId group, const std::string& note) {
  auto members = hardware_.membersOf(group);
  if (members.empty()) return Told::kFailed;
  return calls_.keep(allocations_.allocate(group, std::move(members), note));
}

kj::Promise<Told> PrivdSession::release(IommuGroupId group) {
  return calls_.keep(allocations_.release(group, hardware_.membersOf(group)));
}

}  // namespace vfiogate
