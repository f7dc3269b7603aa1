#include "privd/rpc/command_socket.h"

#include "ipc/socket/unix_socket.h"
#include "privd/base/log_line.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::ptrdiff_t kMostOfAUid = 4;
constexpr std::size_t kMostInAll = 7;
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

bool CommandSocket::full(uid_t uid) const {
  const auto isOfUid = [uid](const auto& seat) { return seat.second.uid == uid; };
  return seats_.size() >= kMostInAll || std::ranges::count_if(seats_, isOfUid) >= kMostOfAUid;
}

void CommandSocket::makeRoomFor(uid_t uid) {
  for (auto seat = seats_.begin(); full(uid) && seat != seats_.end();) {
    if (!seat->second.connection->settled()) {
      ++seat;
      continue;
    }
    seat->second.connection->hangUp("makes room for a newer one");
    seat = seats_.erase(seat);
  }
}

void CommandSocket::take(kj::AutoCloseFd fd) {
  const PeerIdentity peer = peerOf(fd.get());
  const auto rights = rightsOf(policy_, Origin::kAccepted, peer.uid);
  if (rights) makeRoomFor(peer.uid);
  if (!rights || full(peer.uid)) {
    logLine(LogEvent::kPeerRefused,
            {{"uid", kj::str(peer.uid)},
             {"pid", peer.pid ? kj::str(*peer.pid) : kj::str("null")},
             {"reason", kj::str(rights ? "too many connections" : "only root may connect")}});
    return;
  }
  auto stream = io_.lowLevelProvider->wrapSocketFd(kj::mv(fd), kStreamFlags);
  auto connection = kj::heap<Connection>(node_, *rights, nullptr, kj::mv(stream),
                                         AuditPeer{"root", peer.uid, peer.pid.value_or(0)});
  const std::uint64_t seat = ++lastSeat_;
  seats_.emplace(seat, Seat{peer.uid, connection.get()});
  auto ended = connection->ended();
  tasks_.add(ended
                 .then([uid = peer.uid](kj::String why) {
                   if (why.size() == 0) return;
                   logLine(LogEvent::kPeerHungUp, {{"uid", kj::str(uid)}, {"reason", kj::mv(why)}});
                 })
                 .attach(kj::defer([this, seat]() { seats_.erase(seat); }), kj::mv(connection)));
}

void CommandSocket::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kPeerRefused, {{"reason", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
