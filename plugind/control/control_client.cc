#include "plugind/control/control_client.h"

#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

std::string whyNotDialled(const std::string& socket, int error) {
  std::string text = "cannot reach plugind at " + socket + ": " + strerror(error);
  if (error == ENOENT || error == ECONNREFUSED) {
    text += "; it does not run, or was started with another --listen";
  }
  if (error == EACCES) {
    text +=
        "; asked as uid " + std::to_string(geteuid()) +
        ": ask as root, which becomes plugind's user (--user); that user must be let in: ls -ld " +
        socket.substr(0, socket.rfind('/')) + " " + socket;
  }
  return text;
}

struct Ask {
  schema::Control::Client control;

  kj::Promise<std::string> operator()(const StatusQuestion& /*question*/) {
    return control.statusRequest().send().then(
        [](auto response) { return std::string(response.getJson()); });
  }
  kj::Promise<std::string> operator()(const MetricsQuestion& /*question*/) {
    return control.metricsRequest().send().then(
        [](auto response) { return std::string(response.getText()); });
  }
  kj::Promise<std::string> operator()(const ExplainQuestion& question) {
    auto request = control.explainRequest();
    request.setAddress(question.address.str());
    return request.send().then([](auto response) { return std::string(response.getJson()); });
  }
};

std::string whyNoAnswer(const std::string& socket, const kj::Exception& failure,
                        std::chrono::milliseconds patience) {
  switch (failure.getType()) {
    case kj::Exception::Type::OVERLOADED:
      return "plugind at " + socket + " does not answer within " +
             std::to_string(patience.count()) +
             " ms: it hangs, is stopped, or the machine is overloaded";
    case kj::Exception::Type::DISCONNECTED:
      return "plugind at " + socket +
             " hung up: it takes its own user only, and a few visitors at a time; its log says "
             "more";
    default:
      return "plugind at " + socket + ": " + failure.getDescription().cStr();
  }
}

kj::Promise<PluginReadiness> readinessFrom(schema::Control::Client control) {
  return control.readyRequest().send().then([](auto response) {
    return PluginReadiness{response.getReady(), std::string(response.getWhy())};
  });
}

/// The answer to `question`, as a promise.
template <typename T, typename Question>
Result<T, std::string> askWith(Question question, const std::string& socket,
                               std::chrono::milliseconds patience) {
  using ControlAnswer = Result<T, std::string>;
  auto io = kj::setupAsyncIo();
  auto dialled = dialAt(socket.c_str());
  if (!dialled) return Failure{whyNotDialled(socket, dialled.error().error)};
  auto stream = io.lowLevelProvider->wrapSocketFd(kj::mv(dialled).value(), kStreamFlags);
  capnp::TwoPartyClient client(*stream);
  auto answer = io.provider->getTimer().timeoutAfter(
      patience.count() * kj::MILLISECONDS, question(client.bootstrap().castAs<schema::Control>()));
  return answer
      .then([](T found) { return ControlAnswer(std::move(found)); },
            [&](kj::Exception&& failure) {
              return ControlAnswer(Failure{whyNoAnswer(socket, failure, patience)});
            })
      .wait(io.waitScope);
}

}  // namespace

Result<std::string, std::string> askControl(const std::string& socket,
                                            const ControlQuestion& question,
                                            std::chrono::milliseconds patience) {
  const auto ask = [&question](schema::Control::Client control) {
    return std::visit(Ask{kj::mv(control)}, question);
  };
  return askWith<std::string>(ask, socket, patience);
}

Result<PluginReadiness, std::string> askReadiness(const std::string& socket,
                                                  std::chrono::milliseconds patience) {
  return askWith<PluginReadiness>(readinessFrom, socket, patience);
}

}  // namespace vfiogate
