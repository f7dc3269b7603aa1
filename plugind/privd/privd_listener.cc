#include "plugind/privd/privd_listener.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// From the connection to its first byte, which privd sends at once.
constexpr auto kOpeningPatience = 2 * kj::SECONDS;
/// Connections that have not said their version yet.
constexpr unsigned kMostOpenings = 4;
/// Between two log lines about strangers.
constexpr auto kTellingPause = 1 * kj::SECONDS;
/// After the process ran out of descriptors.
constexpr auto kAcceptPause = 1 * kj::SECONDS;

/// Resolves with our end of the gate's channel; fails in words.
kj::Promise<kj::AutoCloseFd> readOpening(kj::UnixEventPort::FdObserver& readable, int fd) {
  auto received = receiveOpening(fd, kChannelVersion);
  if (!received) return KJ_EXCEPTION(FAILED, received.error().c_str());
  auto channel = kj::mv(received).value();
  KJ_IF_MAYBE (end, channel) return kj::mv(*end);
  return readable.whenBecomesReadable().then(
      [&readable, fd]() { return readOpening(readable, fd); });
}

}  // namespace

PrivdListener::PrivdListener(kj::AutoCloseFd listener, Users users, const LoopDeps& loop)
    : listener_(kj::mv(listener)),
      users_(users),
      loop_(loop),
      readable_(loop.port, listener_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      tasks_(*this) {}

void PrivdListener::start(Arrivals to) {
  to_ = kj::mv(to);
  tasks_.add(acceptForever());
}

kj::Promise<void> PrivdListener::acceptForever() {
  return kj::evalNow([this]() {
           takeConnections();
           starved_ = false;
           return readable_.whenBecomesReadable();
         })
      .catch_([this](kj::Exception&& failure) {
        if (!std::exchange(starved_, true)) {
          logError(LogEvent::kAcceptFailed,
                   {{"where", "privd"}, {"why", failure.getDescription().cStr()}});
        }
        return loop_.timer.afterDelay(kAcceptPause);
      })
      .then([this]() { return acceptForever(); });
}

void PrivdListener::takeConnections() {
  for (;;) {
    auto accepted = acceptFrom(listener_.get());
    KJ_IF_MAYBE (connection, accepted) {
      admit(kj::mv(*connection));
    } else {
      return;
    }
  }
}

void PrivdListener::admit(kj::AutoCloseFd connection) {
  const PeerIdentity peer = peerOf(connection.get());
  if (peer.uid != users_.privd) {
    if (peer.uid == users_.own) return to_.visitor(kj::mv(connection), Visitor::kOwnUser);
    if (peer.uid == users_.netd) return to_.visitor(kj::mv(connection), Visitor::kNetd);
    return refuse("not privd's user", peer.uid);
  }
  if (inside_) return refuse("privd is here already", peer.uid);
  if (openings_ >= kMostOpenings) return refuse("too many that say nothing", peer.uid);
  ++openings_;
  tasks_.add(awaitOpening(kj::mv(connection)).attach(kj::defer([this]() { --openings_; })));
}

kj::Promise<void> PrivdListener::awaitOpening(kj::AutoCloseFd connection) {
  const int fd = connection.get();
  auto readable = kj::heap<kj::UnixEventPort::FdObserver>(
      loop_.port, fd, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto opening = readOpening(*readable, fd).attach(kj::mv(readable));
  return loop_.timer.timeoutAfter(kOpeningPatience, kj::mv(opening))
      .then(
          [this, connection = kj::mv(connection)](kj::AutoCloseFd channel) mutable {
            opened({kj::mv(connection), kj::mv(channel)});
          },
          [this](kj::Exception&& failure) { to_.failed(failure.getDescription().cStr()); });
}

void PrivdListener::opened(PrivdOpening opening) {
  if (inside_) return refuse("privd is here already", users_.privd);
  to_.privd(kj::mv(opening));
}

void PrivdListener::refuse(const char* why, uid_t uid) {
  ++refused_;
  // Whoever may reach the socket can dial in a loop.
  if (refused_ > 1 && loop_.timer.now() - refusalTold_ < kTellingPause) return;
  refusalTold_ = loop_.timer.now();
  logWarning(LogEvent::kPeerRefused, {{"where", "privd"},
                                      {"why", why},
                                      {"uid", uid},
                                      {"wanted_uid", users_.privd},
                                      {"refused", refused_}});
}

void PrivdListener::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "privd_listener"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
