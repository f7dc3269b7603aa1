#include "netd/metrics/plugind_news.h"

#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/unix_socket.h"
#include "netd/base/plugind_trouble.h"

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr auto kPatience = 2 * kj::SECONDS;
constexpr std::size_t kMostText = 1U << 20U;
/// Twice the text that is taken: a message above it is refused before it is stored.
constexpr capnp::ReaderOptions kFromPlugind{.traversalLimitInWords = 2 * kMostText / 8,
                                            .nestingLimit = 8};

constexpr QuestionWords kNewsWords{
    "it takes the user of its --netd-uid, and a few visitors at a time", "the question"};

/// A connection, for as long as it is asked.
class Call {
public:
  explicit Call(kj::Own<kj::AsyncIoStream> stream)
      : stream_(kj::mv(stream)),
        network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPlugind),
        rpc_(capnp::makeRpcClient(network_)) {}

  kj::Promise<PlugindNews> ask() {
    capnp::MallocMessageBuilder message;
    auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    auto control = rpc_.bootstrap(server).castAs<schema::Control>();
    auto metrics = control.metricsRequest().send();
    return control.readyRequest().send().then([metrics = kj::mv(metrics)](auto ready) mutable {
      PlugindNews news;
      news.ready = ready.getReady();
      news.why = ready.getWhy();
      return metrics.then([news = std::move(news)](auto answer) mutable {
        news.metrics = answer.getText();
        return std::move(news);
      });
    });
  }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace

kj::Promise<PlugindAnswer> PlugindCaller::ask() {
  auto dialled = dialAt(socket_.c_str());
  if (!dialled) return PlugindAnswer(Failure{whyNotDialled(socket_, dialled.error().error)});
  auto call = kj::heap<Call>(streams_.wrapSocketFd(kj::mv(dialled).value(), kStreamFlags));
  auto news = timer_.timeoutAfter(kPatience, call->ask());
  return news
      .then(
          [](PlugindNews told) {
            if (told.metrics.size() <= kMostText) return PlugindAnswer(std::move(told));
            return PlugindAnswer(Failure{std::string("plugind's metrics are more than 1 MiB")});
          },
          [](kj::Exception&& failure) {
            return PlugindAnswer(Failure{whyNoAnswer(failure, kNewsWords)});
          })
      .attach(kj::mv(call));
}

}  // namespace vfiogate
