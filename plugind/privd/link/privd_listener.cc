#include "plugind/privd/link/privd_listener.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// From the connection to its first byte, which privd sends at once.
constexpr auto kOpeningPatience = 2 * kj::SECONDS;
/// Connections of one user that have not said yet who they are.
constexpr unsigned kMostOpenings = 4;
/// Between two log lines about strangers.
constexpr auto kTellingPause = 1 * kj::SECONDS;
/// After the process ran out of descriptors.
constexpr auto kAcceptPause = 1 * kj::SECONDS;

/// Fails in words.
kj::Promise<Opening> readOpening(kj::UnixEventPort::FdObserver& readable, int fd) {
  auto received = receiveOpening(fd, kChannelVersion);
  if (!received) return KJ_EXCEPTION(FAILED, received.error().c_str());
  auto arrived = kj::mv(received).value();
  KJ_IF_MAYBE (opening, arrived) return kj::mv(*opening);
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
  const uid_t uid = peerOf(connection.get()).uid;
  if (uid != users_.privd && uid != users_.hardware) {
    if (uid == users_.own) return to_.visitor(kj::mv(connection), Visitor::kOwnUser);
    if (uid == users_.netd) return to_.visitor(kj::mv(connection), Visitor::kNetd);
    return refuse("not privd's user", uid, users_.privd);
  }
  if (!hasRoom(uid)) return refuse("privd is here already", uid, users_.privd);
  unsigned& openings = uid == users_.privd ? rootOpenings_ : hardwareOpenings_;
  if (openings >= kMostOpenings) return refuse("too many that say nothing", uid, users_.privd);
  ++openings;
  tasks_.add(
      awaitOpening(kj::mv(connection), uid).attach(kj::defer([&openings]() { --openings; })));
}

/// Whether a role that this user may have is not in yet.
bool PrivdListener::hasRoom(uid_t uid) const {
  const bool root = uid == users_.privd;
  return (root && !(isIn(PrivdRole::kGate) && isIn(PrivdRole::kBinder))) ||
         (uid == users_.hardware && !isIn(PrivdRole::kHardware));
}

kj::Promise<void> PrivdListener::awaitOpening(kj::AutoCloseFd connection, uid_t uid) {
  const int fd = connection.get();
  auto readable = kj::heap<kj::UnixEventPort::FdObserver>(
      loop_.port, fd, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto said = readOpening(*readable, fd).attach(kj::mv(readable));
  return loop_.timer.timeoutAfter(kOpeningPatience, kj::mv(said))
      .then([this, uid, connection = kj::mv(connection)](
                Opening opening) mutable { opened(kj::mv(connection), kj::mv(opening), uid); },
            [this](kj::Exception&& failure) { to_.failed(failure.getDescription().cStr()); });
}

void PrivdListener::opened(kj::AutoCloseFd connection, Opening opening, uid_t uid) {
  const bool hardware = opening.role == PrivdRole::kHardware;
  const uid_t wanted = hardware ? users_.hardware : users_.privd;
  if (uid != wanted) {
    return refuse(std::string("its user may not be privd-") + nameOf(opening.role), uid, wanted);
  }
  if (isIn(opening.role)) {
    return refuse(std::string("privd-") + nameOf(opening.role) + " is here already", uid, wanted);
  }
  inside(opening.role) = true;
  // Of the others the channel is all.
  KJ_IF_MAYBE (channel, opening.channel) return to_.privd(opening.role, kj::mv(*channel));
  to_.privd(opening.role, kj::mv(connection));
}

void PrivdListener::refuse(const std::string& why, uid_t uid, uid_t wanted) {
  ++refused_;
  // Whoever may reach the socket can dial in a loop.
  if (refused_ > 1 && loop_.timer.now() - refusalTold_ < kTellingPause) return;
  refusalTold_ = loop_.timer.now();
  logWarning(LogEvent::kPeerRefused, {{"where", "privd"},
                                      {"why", why},
                                      {"uid", uid},
                                      {"wanted_uid", wanted},
                                      {"refused", refused_}});
}

void PrivdListener::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "privd_listener"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
