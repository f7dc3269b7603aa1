#include "privd/loop/plugind_link.h"

#include "ipc/socket/unix_socket.h"
#include "privd/base/log_line.h"

#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kShortestPause = 50 * kj::MILLISECONDS;
/// Not at once: whoever makes sockets in a loop must not make us dial in one.
constexpr auto kPauseAfterHint = 5 * kj::MILLISECONDS;
constexpr auto kLongestPause = 2 * kj::SECONDS;

/// The hardware process goes on on the connection, the others at their end of a channel.
Result<kj::AutoCloseFd, std::string> open(kj::AutoCloseFd connection, PrivdRole role) {
  if (role != PrivdRole::kHardware) {
    return sendChannelOpening(connection, role, kChannelVersion);
  }
  const auto sent = sendHardwareOpening(connection, kChannelVersion);
  if (!sent) return Failure{sent.error()};
  return connection;
}

}  // namespace

PlugindLink::PlugindLink(Deps deps)
    : deps_(kj::mv(deps)), pause_(kShortestPause), task_(dial().eagerlyEvaluate(nullptr)) {}

kj::Promise<void> PlugindLink::dial() {
  auto made = dialAt(deps_.path.c_str());
  if (!made) {
    if (!std::exchange(absenceTold_, true)) {
      logLine(LogEvent::kPlugindAbsent, {{"role", kj::str(nameOf(deps_.role))},
                                         {"socket", kj::str(deps_.path.c_str())},
                                         {"error", kj::str(strerror(made.error().error))}});
    }
    return pauseAndDial();
  }
  kj::AutoCloseFd connection = kj::mv(made).value();
  const uid_t uid = peerOf(connection).uid;
  // Root is never it: that a process of root's answers on plugind's path does not make it plugind.
  if (uid == 0 || uid != deps_.plugindUid) {
    logLine(LogEvent::kPlugindRefused, {{"role", kj::str(nameOf(deps_.role))},
                                        {"socket", kj::str(deps_.path.c_str())},
                                        {"uid", kj::str(uid)},
                                        {"expected", kj::str(deps_.plugindUid)}});
    return pauseAndDial();
  }
  return serve(kj::mv(connection));
}

kj::Promise<void> PlugindLink::serve(kj::AutoCloseFd connection) {
  auto opened = open(kj::mv(connection), deps_.role);
  if (!opened) {
    logLine(LogEvent::kPlugindRefused, {{"role", kj::str(nameOf(deps_.role))},
                                        {"socket", kj::str(deps_.path.c_str())},
                                        {"error", kj::str(opened.error().c_str())}});
    return pauseAndDial();
  }
  absenceTold_ = false;
  logLine(LogEvent::kPlugindConnected,
          {{"role", kj::str(nameOf(deps_.role))}, {"socket", kj::str(deps_.path.c_str())}});
  const auto began = deps_.timer.now();
  return deps_.serve(kj::mv(opened).value()).then([this, began](std::string why) {
    if (why.empty()) {
      logLine(LogEvent::kPeerGone, {{"role", kj::str("plugind")}});
    } else {
      logLine(LogEvent::kPeerHungUp,
              {{"role", kj::str("plugind")}, {"reason", kj::str(why.c_str())}});
    }
    // A connection that held is no failure; one that broke at once keeps the pause growing.
    if (deps_.timer.now() - began > kLongestPause) pause_ = kShortestPause;
    return pauseAndDial();
  });
}

kj::Promise<void> PlugindLink::pauseAndDial() {
  auto paused = deps_.timer.afterDelay(pause_);
  pause_ = kj::min(pause_ * 2, kLongestPause);
  auto appeared = deps_.socketMade.next(deps_.socketMade.count()).then([this](std::uint64_t) {
    pause_ = kShortestPause;
    return deps_.timer.afterDelay(kPauseAfterHint);
  });
  return paused.exclusiveJoin(kj::mv(appeared)).then([this]() { return dial(); });
}

}  // namespace vfiogate
