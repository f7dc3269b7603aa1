#include "privd/command_socket.h"

#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "privd/log_line.h"

namespace vfiogate {
namespace {

constexpr unsigned kMostOfAUid = 4;
constexpr unsigned kMostInAll = 7;
constexpr auto kPauseWhenStarved = 100 * kj::MILLISECONDS;

}  // namespace

CommandSocket::CommandSocket(Node& node, kj::AsyncIoContext& io, RolePolicy policy,
                             kj::AutoCloseFd listener)
    : node_(node),
      io_(io),
      policy_(policy),
      listener_(kj::mv(listener)),
      observer_(io.unixEventPort, listener_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      tasks_(*this) {
  tasks_.add(acceptAll());
}

kj::Promise<void> CommandSocket::acceptAll() {
  kj::Maybe<kj::Exception> starved = kj::runCatchingExceptions([this]() {
    while (true) {
      KJ_IF_MAYBE (fd, acceptFrom(listener_.get())) {
        take(kj::mv(*fd));
      } else {
        break;
      }
    }
  });
  const bool told = starved_;
  starved_ = starved != nullptr;
  KJ_IF_MAYBE (exception, starved) {
    // No descriptor is left for now: those who connected wait in the backlog.
    if (!told) {
      logLine(LogEvent::kAcceptFailed, {{"error", kj::str(exception->getDescription())}});
    }
    return node_.timer.afterDelay(kPauseWhenStarved).then([this]() { return acceptAll(); });
  }
  return observer_.whenBecomesReadable().then([this]() { return acceptAll(); });
}

void CommandSocket::take(kj::AutoCloseFd fd) {
  const PeerIdentity peer = peerOf(fd.get());
  const auto rights = rightsOf(policy_, Origin::kAccepted, peer.uid);
  const bool full = total_ >= kMostInAll || connections_[peer.uid] >= kMostOfAUid;
  if (!rights || full) {
    if (connections_[peer.uid] == 0) connections_.erase(peer.uid);
    logLine(LogEvent::kPeerRefused,
            {{"uid", kj::str(peer.uid)},
             {"pid", peer.pid ? kj::str(*peer.pid) : kj::str("null")},
             {"reason", kj::str(full ? "too many connections" : "only root may connect")}});
    return;
  }
  ++connections_[peer.uid];
  ++total_;
  auto stream = io_.lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
  auto connection = kj::heap<Connection>(node_, *rights, nullptr, kj::mv(stream),
                                         AuditPeer{"root", peer.uid, peer.pid.value_or(0)});
  auto ended = connection->ended();
  tasks_.add(ended.attach(kj::mv(connection)).then([this, uid = peer.uid](kj::String why) {
    if (why.size() > 0) {
      logLine(LogEvent::kPeerHungUp, {{"uid", kj::str(uid)}, {"reason", kj::mv(why)}});
    }
    leave(uid);
  }));
}

void CommandSocket::leave(uid_t uid) {
  --total_;
  if (--connections_[uid] == 0) connections_.erase(uid);
}

void CommandSocket::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kPeerRefused, {{"reason", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
