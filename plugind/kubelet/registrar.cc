#include "plugind/kubelet/registrar.h"

#include "plugind/base/log_line.h"
#include "plugind/kubelet/calls_to_kubelet.h"

#include <kj/debug.h>

#include <chrono>
#include <random>
#include <utility>

namespace vfiogate {
namespace {

constexpr Registration::Pauses kPauses{std::chrono::milliseconds(200),
                                       std::chrono::milliseconds(30'000)};
constexpr Registration::Pauses kKnocks{std::chrono::milliseconds(4),
                                       std::chrono::milliseconds(30'000)};

RegistrationTurn turnOf(const grpc::Status& status) {
  if (status.ok()) return RegistrationTurn::kTaken;
  const bool silent = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return silent ? RegistrationTurn::kUnreachable : RegistrationTurn::kRefused;
}

}  // namespace

Registrar::Registrar(const ResourceName& resource, KubeletSockets& sockets, PluginServer& server,
                     const LoopDeps& loop)
    : resource_(resource),
      sockets_(sockets),
      server_(server),
      loop_(loop),
      registration_(kPauses, kKnocks),
      alarm_(loop.timer, [this]() { carryOut(registration_.tick(now(), draw())); }) {}

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
  if (step.turn) note(*step.turn);
  if (step.attempt) {
    attempt_ = kj::evalLater([this]() { return attempt(); }).eagerlyEvaluate(nullptr);
  }
  alarm_.set(registration_.due());
}

void Registrar::note(RegistrationTurn turn) {
  ++turns_[turn];
  switch (turn) {
    case RegistrationTurn::kNoStream:
      complain(turn, "the kubelet registered it and opened no ListAndWatch");
      break;
    case RegistrationTurn::kStreamEnded:
    case RegistrationTurn::kNewKubelet:
      logInfo(LogEvent::kRegistrationLost,
              {{"resource", resource_.str()}, {"turn", nameOf(turn)}, {"side", sideOf(turn)}});
      break;
    case RegistrationTurn::kTaken:
    case RegistrationTurn::kRefused:
    case RegistrationTurn::kUnreachable:
    case RegistrationTurn::kNoSocket:
      break;  // attempt() has told
  }
}

kj::Promise<void> Registrar::attempt() {
  return dialAndRegister()
      .catch_([](kj::Exception&& exception) {
        return Outcome{RegistrationTurn::kNoSocket, exception.getDescription().cStr()};
      })
      .then([this](const Outcome& outcome) {
        if (outcome.turn == RegistrationTurn::kTaken) {
          lastComplaint_.clear();
          logInfo(LogEvent::kRegistered, {{"resource", resource_.str()}});
        } else {
          complain(outcome.turn, outcome.why);
        }
        carryOut(registration_.attemptEnded(outcome.turn, now(), draw()));
      });
}

kj::Promise<Registrar::Outcome> Registrar::dialAndRegister() {
  return sockets_.dialKubelet().then(
      [this](Result<kj::AutoCloseFd, SocketRefusal> dialled) -> kj::Promise<Outcome> {
        if (dialled) return registerOver(kj::mv(dialled).value());
        return Outcome{
            dialled.error().absent ? RegistrationTurn::kUnreachable : RegistrationTurn::kNoSocket,
            dialled.error().why};
      });
}

kj::Promise<Registrar::Outcome> Registrar::registerOver(kj::AutoCloseFd connection) {
  return sockets_.listenFor(resource_).then(
      [this, connection = kj::mv(connection)](
          Result<PluginSocket, SocketRefusal> made) mutable -> kj::Promise<Outcome> {
        if (!made) return Outcome{RegistrationTurn::kNoSocket, made.error().why};
        PluginSocket socket = kj::mv(made).value();
        server_.listenOn(kj::mv(socket.listener));
        return registerWithKubelet(kj::mv(connection), resource_, socket.endpoint)
            .then([](const grpc::Status& status) {
              return Outcome{turnOf(status), status.error_message()};
            });
      });
}

Instant Registrar::now() const {
  return std::chrono::steady_clock::now();
}

double Registrar::draw() {
  return std::uniform_real_distribution<double>(0, 1)(loop_.random);
}

void Registrar::complain(RegistrationTurn turn, const std::string& why) {
  // A kubelet may be away for days: one line for each different reason.
  if (why == lastComplaint_) return;
  lastComplaint_ = why;
  logWarning(LogEvent::kRegisterFailed, {{"resource", resource_.str()},
                                         {"turn", nameOf(turn)},
                                         {"side", sideOf(turn)},
                                         {"why", why},
                                         {"then", "retried"}});
}

}  // namespace vfiogate
