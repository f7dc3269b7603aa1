#include "plugind/dra/serve/dra_registrar.h"

#include "plugind/base/log_line.h"

#include <chrono>
#include <random>
#include <utility>

namespace vfiogate {
namespace {

constexpr DraRegistration::Pauses kSocketPauses{std::chrono::milliseconds(200),
                                                std::chrono::milliseconds(30'000)};

}  // namespace

DraRegistrar::DraRegistrar(std::string driver, DraSockets& sockets, DraServer& server,
                           const LoopDeps& loop)
    : driver_(std::move(driver)),
      sockets_(sockets),
      server_(server),
      loop_(loop),
      registration_(kSocketPauses),
      alarm_(loop.timer, [this]() { tick(); }) {}

void DraRegistrar::start() {
  if (registration_.wanted()) begin();
}

void DraRegistrar::socketsCame() {
  if (registration_.socketsCame()) begin();
}

void DraRegistrar::tick() {
  if (registration_.tick(std::chrono::steady_clock::now())) {
    begin();
  } else {
    alarm_.set(registration_.due());
  }
}

void DraRegistrar::begin() {
  alarm_.set(std::nullopt);
  attempt_ = kj::evalLater([this]() { return attempt(); }).eagerlyEvaluate(nullptr);
}

kj::Promise<void> DraRegistrar::attempt() {
  return kj::evalNow([this]() { return makeSockets(); })
      .then(
          [](std::string why) { return why; },
          [](kj::Exception&& exception) { return std::string(exception.getDescription().cStr()); })
      .then([this](const std::string& why) { ended(why); });
}

kj::Promise<std::string> DraRegistrar::makeSockets() {
  return sockets_.listenForDra(driver_, DraSocket::kService)
      .then([this](Result<PluginSocket, SocketRefusal> made) -> kj::Promise<std::string> {
        if (!made) return made.error().why;
        PluginSocket service = kj::mv(made).value();
        server_.serveOn(kj::mv(service.listener));
        return makeRegistration(service.endpoint);
      });
}

kj::Promise<std::string> DraRegistrar::makeRegistration(const std::string& endpoint) {
  return sockets_.listenForDra(driver_, DraSocket::kRegistration)
      .then([this, endpoint](Result<PluginSocket, SocketRefusal> made) {
        if (!made) return made.error().why;
        server_.registerOn(kj::mv(made).value().listener, endpoint);
        return std::string();
      });
}

void DraRegistrar::ended(const std::string& why) {
  const double draw = std::uniform_real_distribution<double>(0, 1)(loop_.random);
  registration_.attemptEnded(why.empty(), std::chrono::steady_clock::now(), draw);
  if (why.empty()) {
    if (state() == DraRegistrationState::kFindable) trouble_.clear();
  } else {
    complain(RegistrationTurn::kNoSocket, why);
  }
  alarm_.set(registration_.due());
}

void DraRegistrar::registrationTold(bool registered, const std::string& error) {
  if (!registration_.told(registered)) return;
  if (!registered) return complain(RegistrationTurn::kRefused, error);
  trouble_.clear();
  logInfo(LogEvent::kRegistered, {{"driver", driver_}});
}

void DraRegistrar::complain(RegistrationTurn turn, const std::string& why) {
  // Either side tries again for days: one line for each different reason.
  if (why == trouble_) return;
  trouble_ = why;
  logWarning(LogEvent::kRegisterFailed, {{"driver", driver_},
                                         {"turn", nameOf(turn)},
                                         {"side", sideOf(turn)},
                                         {"why", why},
                                         {"then", "retried"}});
}

}  // namespace vfiogate
