#include "netd/roles/command_line.h"

#include "netd/base/become_nobody.h"
#include "netd/base/log_line.h"
#include "netd/metrics/http_listener.h"
#include "netd/metrics/plugind_news.h"
#include "rootless/start.h"
#include "seccomp/landlock.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace vfiogate {
namespace {

/// Turns of the loop before it looks for news of sockets: a client that always has another request
/// ready would keep the others waiting.
constexpr unsigned kTurnsBetweenPolls = 256;
constexpr std::uint64_t kMostMemory = std::uint64_t{60} << 20U;

}  // namespace

int serveMetrics(const NetdLine& line, std::span<const Rule> filter) {
  startNetdLog(line.logForm);
  auto listening = listenOn(*line.listen);
  if (!listening) return startFailed("listen " + line.listen->str(), listening.error());
  kj::AutoCloseFd listener = kj::mv(listening).value();
  const std::string where = ListenAddress::boundTo(listener.get()).str();
  const int listenerFd = listener.get();
  if (const auto failure = becomeNobody(line.user, {&listenerFd, 1}, kMostMemory)) {
    return startFailed("drop", failure->str());
  }
  captureEndSignals();
  auto io = kj::setupAsyncIo();
  auto toldToEnd = whenToldToEnd(io);
  const uid_t uid = geteuid();
  const Landlocked confined = confine({});
  if (confined.failure) return startFailed("landlock", confined.failure->str());
  if (const auto failure = loadFilter(filter)) {
    return startFailed("filter", failure->str());
  }

  kj::Timer& timer = io.provider->getTimer();
  NetdCounters counters(line.build);
  PlugindCaller plugind(line.plugind, *io.lowLevelProvider, timer);
  NewsCache news(plugind, timer, counters);
  HttpListener http(kj::mv(listener),
                    {io.unixEventPort, *io.lowLevelProvider, timer, news, counters});
  netdLog(NetdEvent::kStarted, {{"version", line.build.version},
                                {"commit", line.build.commit},
                                {"date", line.build.date},
                                {"listen", where},
                                {"plugind", line.plugind},
                                {"uid", uid},
                                {"landlock", confined.abi}});
  io.waitScope.setBusyPollInterval(kTurnsBetweenPolls);
  toldToEnd.exclusiveJoin(http.run()).wait(io.waitScope);
  netdLog(NetdEvent::kEnding, {{"why", "signal"}});
  std::_Exit(0);
}

}  // namespace vfiogate
