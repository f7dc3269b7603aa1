#include "plugind/privd/session_calls.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

/// Below what privd bears (kMaxOpenQuestions), with room for the session's own calls.
constexpr unsigned kCallsAtOnce = 8;

}  // namespace

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
