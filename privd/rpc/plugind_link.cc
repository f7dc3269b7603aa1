#include "privd/rpc/plugind_link.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/log_line.h"

#include <kj/debug.h>

#include <cstring>

namespace vfiogate {
namespace {

constexpr auto kShortestPause = 50 * kj::MILLISECONDS;
/// Not at once: whoever makes sockets in a loop must not make us dial in one.
constexpr auto kPauseAfterHint = 5 * kj::MILLISECONDS;
constexpr auto kLongestPause = 2 * kj::SECONDS;

}  // namespace

PlugindLink::PlugindLink(Node& node, const GateProcess& gate, kj::AsyncIoContext& io,
                         RolePolicy policy, kj::StringPtr path, NameWatch& socketMade)
    : node_(node),
      gate_(gate),
      io_(io),
      policy_(policy),
      path_(kj::heapString(path)),
      socketMade_(socketMade),
      pause_(kShortestPause),
      task_(dial().eagerlyEvaluate(nullptr)) {}

kj::Promise<void> PlugindLink::dial() {
  auto made = dialAt(path_);
  if (!made) {
    if (!absenceTold_) {
      logLine(LogEvent::kPlugindAbsent,
              {{"socket", kj::str(path_)}, {"error", kj::str(strerror(made.error().error))}});
    }
    absenceTold_ = true;
    return pauseAndDial();
  }
  kj::AutoCloseFd fd = kj::mv(made).value();
  const PeerIdentity peer = peerOf(fd.get());
  const auto rights = rightsOf(policy_, peer.uid);
  if (!rights) {
    logLine(LogEvent::kPlugindRefused, {{"socket", kj::str(path_)},
                                        {"uid", kj::str(peer.uid)},
                                        {"expected", kj::str(policy_.plugindUid)}});
    return pauseAndDial();
  }
  return serve(kj::mv(fd), *rights);
}

kj::Promise<void> PlugindLink::serve(kj::AutoCloseFd fd, Rights rights) {
  auto opened = sendOpening(fd.get(), kChannelVersion);
  if (!opened) {
    logLine(LogEvent::kPlugindRefused,
            {{"socket", kj::str(path_)}, {"error", kj::str(opened.error())}});
    return pauseAndDial();
  }
  absenceTold_ = false;
  gate_.serve(kj::mv(opened).value());
  logLine(LogEvent::kPlugindConnected, {{"socket", kj::str(path_)}});
  auto stream = io_.lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
  auto connection = kj::heap<Connection>(node_, rights, kj::mv(stream));
  const auto began = io_.provider->getTimer().now();
  auto ended = connection->ended();
  return ended.attach(kj::mv(connection)).then([this, began](kj::String why) {
    if (why.size() > 0) {
      logLine(LogEvent::kPeerHungUp, {{"role", kj::str("plugind")}, {"reason", kj::mv(why)}});
    } else {
      logLine(LogEvent::kPeerGone, {{"role", kj::str("plugind")}});
    }
    // A connection that held is no failure; one that broke at once keeps the pause growing.
    if (io_.provider->getTimer().now() - began > kLongestPause) pause_ = kShortestPause;
    return pauseAndDial();
  });
}

kj::Promise<void> PlugindLink::pauseAndDial() {
  auto paused = io_.provider->getTimer().afterDelay(pause_);
  pause_ = kj::min(pause_ * 2, kLongestPause);
  auto appeared = socketMade_.next(socketMade_.count()).then([this](std::uint64_t) {
    pause_ = kShortestPause;
    return io_.provider->getTimer().afterDelay(kPauseAfterHint);
  });
  return paused.exclusiveJoin(kj::mv(appeared)).then([this]() { return dial(); });
}

}  // namespace vfiogate
