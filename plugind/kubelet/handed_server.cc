#include "plugind/kubelet/handed_server.h"

#include "ipc/socket/unix_socket.h"
#include "plugind/base/log_line.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// Of an Allocate some thousand device ids, of a prepare some thousand claims.
constexpr int kLargestRequest = 256 * 1024;
/// Calls that one connection may have open. A kubelet has three at a resource; its calls for claims
/// come from as many pods as it starts at once, and wait their turn.
constexpr int kMostCalls = 32;
/// After the process ran out of descriptors.
constexpr auto kListenerPause = 1 * kj::SECONDS;

}  // namespace

struct HandedServer::Listener {
  Listener(kj::UnixEventPort& port, kj::AutoCloseFd socket)
      : fd(kj::mv(socket)), observer(port, fd.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ) {}
  kj::AutoCloseFd fd;
  kj::UnixEventPort::FdObserver observer;
};

HandedServer::HandedServer(std::string name, Methods methods, const LoopDeps& loop,
                           uid_t kubeletUid)
    : name_(std::move(name)),
      loop_(loop),
      kubeletUid_(kubeletUid),
      server_(std::move(methods), {.longestRequest = kLargestRequest, .mostCalls = kMostCalls}) {}

HandedServer::~HandedServer() noexcept(false) = default;

void HandedServer::listenOn(kj::AutoCloseFd listener) {
  accepting_ = nullptr;
  if (listener_.get() != nullptr) takeConnections();
  listener_ = kj::heap<Listener>(loop_.port, kj::mv(listener));
  accepting_ = kj::evalLater([this]() { return acceptForever(); }).eagerlyEvaluate(nullptr);
}

kj::Promise<void> HandedServer::acceptForever() {
  return kj::evalNow([this]() {
           takeConnections();
           starved_ = false;
           return listener_->observer.whenBecomesReadable();
         })
      .then([this]() { return acceptForever(); },
            [this](kj::Exception&& exception) { return acceptAfterFailure(exception); });
}

kj::Promise<void> HandedServer::acceptAfterFailure(const kj::Exception& exception) {
  if (!std::exchange(starved_, true)) {
    logError(LogEvent::kAcceptFailed, {{"where", name_},
                                       {"why", exception.getDescription().cStr()},
                                       {"retry_ms", kListenerPause / kj::MILLISECONDS}});
  }
  return loop_.timer.afterDelay(kListenerPause).then([this]() { return acceptForever(); });
}

void HandedServer::takeConnections() {
  for (;;) {
    auto accepted = acceptFrom(listener_->fd.get());
    KJ_IF_MAYBE (connection, accepted) {
      const PeerIdentity peer = peerOf(connection->get());
      if (peer.uid == kubeletUid_) {
        server_.serve(kj::mv(*connection));
      } else {
        logWarning(LogEvent::kPeerRefused, {{"where", name_},
                                            {"uid", peer.uid},
                                            {"wanted_uid", kubeletUid_},
                                            {"refused", ++refused_}});
      }
    } else {
      return;
    }
  }
}

}  // namespace vfiogate
