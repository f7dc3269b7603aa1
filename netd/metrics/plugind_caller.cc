#include "netd/metrics/plugind_news.h"

#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/limited_client.h"
#include "ipc/socket/unix_socket.h"
#include "netd/base/plugind_trouble.h"

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

kj::Promise<PlugindNews> newsOf(schema::Control::Client control) {
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

}  // namespace

kj::Promise<PlugindAnswer> PlugindCaller::ask() {
  auto dialled = dialAt(socket_.c_str());
  if (!dialled) return PlugindAnswer(Failure{whyNotDialled(socket_, dialled.error().error)});
  auto plugind = kj::heap<LimitedClient>(streams_, kj::mv(dialled).value(), kFromPlugind);
  auto news = timer_.timeoutAfter(kPatience, newsOf(plugind->bootstrap<schema::Control>()));
  return news
      .then(
          [](PlugindNews told) {
            if (told.metrics.size() <= kMostText) return PlugindAnswer(std::move(told));
            return PlugindAnswer(Failure{std::string("plugind's metrics are more than 1 MiB")});
          },
          [](kj::Exception&& failure) {
            return PlugindAnswer(Failure{whyNoAnswer(failure, kNewsWords)});
          })
      .attach(kj::mv(plugind));
}

}  // namespace vfiogate
