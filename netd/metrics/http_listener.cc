#include "netd/metrics/http_listener.h"

#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "netd/base/log_line.h"

#include <kj/debug.h>

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::ptrdiff_t kMostVisits = 64;
/// Taken in a row before those that came get a turn: far fewer than a full house, so that nobody
/// is displaced before its first request was read.
constexpr int kBatch = 8;
/// After the process ran out of descriptors.
constexpr auto kAcceptPause = 1 * kj::SECONDS;

}  // namespace

HttpListener::HttpListener(kj::AutoCloseFd listener, const Deps& deps)
    : listener_(kj::mv(listener)),
      deps_(deps),
      readable_(deps.port, listener_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      tasks_(*this) {}

kj::Promise<void> HttpListener::run() {
  return kj::evalNow([this]() { return takeSome(); })
      .catch_([this](kj::Exception&& failure) {
        if (!std::exchange(starved_, true)) {
          netdLog(NetdEvent::kAcceptFailed, {{"why", failure.getDescription().cStr()}});
        }
        return deps_.timer.afterDelay(kAcceptPause);
      })
      .then([this]() { return run(); });
}

kj::Promise<void> HttpListener::takeSome() {
  for (int i = 0; i < kBatch; ++i) {
    auto accepted = acceptFrom(listener_.get());
    KJ_IF_MAYBE (connection, accepted) {
      admit(kj::mv(*connection));
    } else {
      starved_ = false;
      return readable_.whenBecomesReadable();
    }
  }
  return kj::evalLater([]() {});
}

void HttpListener::admit(kj::AutoCloseFd connection) {
  makeRoom();
  const std::uint64_t id = ++lastId_;
  const HttpDeps shared{deps_.news, deps_.counters, deps_.timer, headers_, book_};
  auto stream = deps_.streams.wrapSocketFd(kj::mv(connection), kStreamFlags);
  auto& visit = *visits_.emplace(id, kj::heap<HttpVisit>(shared, kj::mv(stream))).first->second;
  deps_.counters.connectionOpened();
  tasks_.add(visit.serve().attach(kj::defer([this, id]() {
    visits_.erase(id);
    deps_.counters.connectionClosed();
  })));
}

void HttpListener::makeRoom() {
  const auto isThere = [](const auto& entry) { return !entry.second->isLeaving(); };
  if (std::ranges::count_if(visits_, isThere) < kMostVisits) return;
  const auto rank = [&isThere](const auto& entry) {
    return std::pair(!isThere(entry), entry.second->lastProgress());
  };
  std::ranges::min_element(visits_, {}, rank)->second->displace();
  deps_.counters.connectionDisplaced();
}

void HttpListener::taskFailed(kj::Exception&& exception) {
  netdLog(NetdEvent::kTaskFailed, {{"why", exception.getDescription().cStr()}});
}

}  // namespace vfiogate
