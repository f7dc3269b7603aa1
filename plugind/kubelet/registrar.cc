#include "plugind/kubelet/registrar.h"

#include "plugind/kubelet/register_call.h"
#include "plugind/log_line.h"

#include <kj/debug.h>

#include <random>
#include <utility>

namespace vfiogate {
namespace {

constexpr Backoff::Range kPauses{std::chrono::milliseconds(200), std::chrono::milliseconds(30'000)};
/// A registration that stood this long was good: what ends it later is a new story.
constexpr auto kQuiet = 10 * kj::SECONDS;
/// From the kubelet's answer to its ListAndWatch: it opens that before or right after.
constexpr auto kStreamWait = 5 * kj::SECONDS;

grpc::Status unavailable(const std::string& why) {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, why);
}

}  // namespace

Registrar::Registrar(const ResourceName& resource, KubeletSockets& sockets, PluginServer& server,
                     const LoopParts& loop)
    : resource_(resource), sockets_(sockets), server_(server), loop_(loop), backoff_(kPauses) {}

void Registrar::registerNow() {
  registered_ = false;
  attempting_ = true;
  backoff_.reset();
  lastComplaint_.clear();
  attempts_ = kj::evalLater([this]() { return attemptUntilRegistered(); }).eagerlyEvaluate(nullptr);
}

void Registrar::registerAgain() {
  if (attempting_) return;
  if (registered_ && loop_.timer.now() - registeredAt_ >= kQuiet) backoff_.reset();
  registered_ = false;
  attempting_ = true;
  attempts_ = pauseAndAttempt().eagerlyEvaluate(nullptr);
}

void Registrar::socketsAvailable() {
  if (!registered_) registerNow();
}

kj::Promise<void> Registrar::attemptUntilRegistered() {
  streamSeen_ = false;
  return attempt()
      .catch_(
          [](kj::Exception&& exception) { return unavailable(exception.getDescription().cStr()); })
      .then([this](grpc::Status status) -> kj::Promise<void> {
        if (!status.ok()) {
          complain(status.error_message());
          return pauseAndAttempt();
        }
        registered_ = true;
        attempting_ = false;
        registeredAt_ = loop_.timer.now();
        lastComplaint_.clear();
        logInfo(LogEvent::kRegistered, {{"resource", resource_.str()}});
        return awaitStream();
      });
}

kj::Promise<void> Registrar::awaitStream() {
  return loop_.timer.afterDelay(kStreamWait).then([this]() -> kj::Promise<void> {
    if (streamSeen_) return kj::READY_NOW;
    registered_ = false;
    attempting_ = true;
    complain("the kubelet registered it and opened no ListAndWatch");
    return pauseAndAttempt();
  });
}

kj::Promise<grpc::Status> Registrar::attempt() {
  return sockets_.dialKubelet().then(
      [this](Result<kj::AutoCloseFd, SocketRefusal> dialled) -> kj::Promise<grpc::Status> {
        if (!dialled) return unavailable(dialled.error().why);
        return registerOver(kj::mv(dialled).value());
      });
}

kj::Promise<grpc::Status> Registrar::registerOver(kj::AutoCloseFd connection) {
  return sockets_.listenFor(resource_).then(
      [this, connection = kj::mv(connection)](
          Result<PluginSocket, SocketRefusal> made) mutable -> kj::Promise<grpc::Status> {
        if (!made) return unavailable(made.error().why);
        PluginSocket socket = kj::mv(made).value();
        server_.listenOn(kj::mv(socket.listener));
        return registerWithKubelet(kj::mv(connection), resource_, socket.endpoint);
      });
}

kj::Promise<void> Registrar::pauseAndAttempt() {
  std::uniform_real_distribution<double> draw(0, 1);
  const auto pause = backoff_.next(draw(loop_.random));
  return loop_.timer.afterDelay(pause.count() * kj::MILLISECONDS).then([this]() {
    return attemptUntilRegistered();
  });
}

void Registrar::complain(const std::string& why) {
  // A kubelet may be away for days: one line for each different reason.
  if (why == lastComplaint_) return;
  lastComplaint_ = why;
  logWarning(LogEvent::kRegisterFailed,
             {{"resource", resource_.str()}, {"why", why}, {"then", "retried"}});
}

}  // namespace vfiogate
