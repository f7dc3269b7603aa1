#include "plugind/kubelet/registrar.h"

#include "plugind/kubelet/register_call.h"
#include "plugind/log_line.h"

#include <kj/debug.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace vfiogate {
namespace {

constexpr Backoff::Range kPauses{std::chrono::milliseconds(200), std::chrono::milliseconds(30'000)};

grpc::Status unavailable(const std::string& why) {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, why);
}

}  // namespace

Registrar::Registrar(const ResourceName& resource, KubeletSockets& sockets, PluginServer& server,
                     const LoopParts& loop)
    : resource_(resource),
      sockets_(sockets),
      server_(server),
      loop_(loop),
      registration_(kPauses) {}

void Registrar::start() {
  carryOut(registration_.wanted());
}

void Registrar::kubeletCame() {
  lastComplaint_.clear();
  carryOut(registration_.kubeletCame());
}

void Registrar::socketsCame() {
  carryOut(registration_.socketsCame());
}

void Registrar::streamOpened() {
  carryOut(registration_.streamOpened());
}

void Registrar::streamEnded() {
  carryOut(registration_.streamEnded(now(), draw()));
}

void Registrar::carryOut(Registration::Step step) {
  if (step.turn) {
    ++turns_[*step.turn];
    if (step.turn == RegistrationTurn::kNoStream) {
      complain("the kubelet registered it and opened no ListAndWatch");
    }
  }
  if (step.attempt) {
    attempt_ = kj::evalLater([this]() { return attempt(); }).eagerlyEvaluate(nullptr);
  }
  setAlarm();
}

void Registrar::setAlarm() {
  const auto due = registration_.due();
  if (!due) {
    alarm_ = nullptr;
    return;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now());
  const auto wait = std::max<std::int64_t>(left.count(), 0) * kj::MILLISECONDS;
  alarm_ = loop_.timer.afterDelay(wait)
               .then([this]() {
                 ring_ = kj::evalLater([this]() {
                           carryOut(registration_.tick(now(), draw()));
                         }).eagerlyEvaluate(nullptr);
               })
               .eagerlyEvaluate(nullptr);
}

kj::Promise<void> Registrar::attempt() {
  return dialAndRegister()
      .catch_(
          [](kj::Exception&& exception) { return unavailable(exception.getDescription().cStr()); })
      .then([this](const grpc::Status& status) {
        if (status.ok()) {
          lastComplaint_.clear();
          logInfo(LogEvent::kRegistered, {{"resource", resource_.str()}});
        } else {
          complain(status.error_message());
        }
        carryOut(registration_.attemptEnded(status.ok(), now(), draw()));
      });
}

kj::Promise<grpc::Status> Registrar::dialAndRegister() {
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

Instant Registrar::now() const {
  return std::chrono::steady_clock::now();
}

double Registrar::draw() {
  return std::uniform_real_distribution<double>(0, 1)(loop_.random);
}

void Registrar::complain(const std::string& why) {
  // A kubelet may be away for days: one line for each different reason.
  if (why == lastComplaint_) return;
  lastComplaint_ = why;
  logWarning(LogEvent::kRegisterFailed,
             {{"resource", resource_.str()}, {"why", why}, {"then", "retried"}});
}

}  // namespace vfiogate
