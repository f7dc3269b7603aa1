#include "plugind/privd/session_calls.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

/// Below what privd bears (kMaxOpenQuestions), with room for the session's own calls.
constexpr unsigned kCallsAtOnce = 8;
constexpr auto kLastMoment = 1 * kj::SECONDS;

}  // namespace

kj::Promise<void> waitedInVain(kj::Timer& timer, kj::Duration patience) {
  return timer.afterDelay(patience - kLastMoment).then([&timer]() {
    return timer.afterDelay(kLastMoment);
  });
}

SessionCalls::SessionCalls() : calls_(kCallsAtOnce) {}

void SessionCalls::hangUp(const std::string& why) {
  over_.fulfiller->fulfill(kj::cp(why));
}

void SessionCalls::end() {
  asked_.cancel(KJ_EXCEPTION(DISCONNECTED, "privd is away"));
}

kj::Exception notInYet() {
  return KJ_EXCEPTION(DISCONNECTED, "privd has not let us in yet");
}

}  // namespace vfiogate
