#include "plugind/desk/desk_client.h"

#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/desk/desk.capnp.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

using DeskAnswer = Result<std::string, std::string>;

std::string whyNotDialled(const std::string& socket, int error) {
  std::string text = "cannot reach plugind at " + socket + ": " + strerror(error);
  if (error == ENOENT || error == ECONNREFUSED) {
    text += "; it does not run, or was started with another --listen";
  }
  if (error == EACCES) text += "; ask as plugind's own user, or as root";
  return text;
}

struct Ask {
  schema::Desk::Client desk;

  kj::Promise<std::string> operator()(const StatusQuestion& /*question*/) {
    return desk.statusRequest().send().then(
        [](auto response) { return std::string(response.getJson()); });
  }
  kj::Promise<std::string> operator()(const MetricsQuestion& /*question*/) {
    return desk.metricsRequest().send().then(
        [](auto response) { return std::string(response.getText()); });
  }
  kj::Promise<std::string> operator()(const ExplainQuestion& question) {
    auto request = desk.explainRequest();
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

}  // namespace

DeskAnswer askDesk(const std::string& socket, const DeskQuestion& question,
                   std::chrono::milliseconds patience) {
  auto io = kj::setupAsyncIo();
  auto dialled = dialAt(socket.c_str());
  if (!dialled) return Failure{whyNotDialled(socket, dialled.error().error)};
  auto stream = io.lowLevelProvider->wrapSocketFd(kj::mv(dialled).value(), kStreamFlags);
  capnp::TwoPartyClient client(*stream);
  Ask ask{client.bootstrap().castAs<schema::Desk>()};
  auto answer = io.provider->getTimer().timeoutAfter(patience.count() * kj::MILLISECONDS,
                                                     std::visit(ask, question));
  return answer
      .then([](std::string text) { return DeskAnswer(std::move(text)); },
            [&](kj::Exception&& failure) {
              return DeskAnswer(Failure{whyNoAnswer(socket, failure, patience)});
            })
      .wait(io.waitScope);
}

}  // namespace vfiogate
