#include "netd/metrics/news_cache.h"

#include "netd/base/log_line.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr auto kFresh = 1 * kj::SECONDS;

}  // namespace

kj::Promise<NewsCache::Latest> NewsCache::latest() {
  if (asking_ || (latest_ && timer_.now() < askedAgainFrom_)) {
    counters_.cached();
    return asking_ ? question_.addBranch() : kj::Promise<Latest>(latest_);
  }
  asking_ = true;
  question_ = source_.ask()
                  .then([this](PlugindAnswer answer) {
                    keep(std::move(answer));
                    return latest_;
                  })
                  .fork();
  return question_.addBranch();
}

void NewsCache::keep(PlugindAnswer answer) {
  counters_.plugindAnswered(answer.has_value());
  const auto failure = answer ? std::nullopt : std::optional(answer.error());
  if (failure && failure != told_) netdLog(NetdEvent::kPlugindAway, {{"why", *failure}});
  if (!failure && told_) netdLog(NetdEvent::kPlugindBack);
  told_ = failure;
  latest_ = std::make_shared<const PlugindAnswer>(std::move(answer));
  askedAgainFrom_ = timer_.now() + kFresh;
  asking_ = false;
}

}  // namespace vfiogate
