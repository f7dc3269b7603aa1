#include "netd/serve_metrics.h"

#include "netd/http_door.h"
#include "netd/log_line.h"
#include "netd/plugind_caller.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/netd_metrics_rules.h"

#include <kj/async-io.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace vfiogate {
namespace {

/// Turns of the loop before it looks for news of sockets: a client that always has another request
/// ready would keep the others waiting.
constexpr unsigned kTurnsBetweenPolls = 256;

int failed(const std::string& step, const std::string& why) {
  netdLog(NetdEvent::kStartFailed, {{"step", step}, {"why", why}});
  return 1;
}

std::optional<StepFailure> becomeNobody(const Identity& user, int listener) {
  const std::array keep{listener};
  Remaining remaining{.descriptors = keep};
  if (geteuid() == 0) {
    remaining.identity = user;
  } else if (geteuid() != user.uid) {
    netdLog(NetdEvent::kNotRoot, {{"uid", std::to_string(geteuid())},
                                  {"wanted_uid", std::to_string(user.uid)},
                                  {"then", "stays who it is: plugind needs this --netd-uid"}});
  }
  return dropPrivileges(remaining);
}

/// Resolves on SIGTERM or SIGINT. The kernel is asked for them here and now, not when the loop
/// first waits: the filter forbids it by then.
kj::Promise<void> whenToldToEnd(kj::AsyncIoContext& io) {
  auto told = io.unixEventPort.onSignal(SIGTERM)
                  .exclusiveJoin(io.unixEventPort.onSignal(SIGINT))
                  .ignoreResult();
  told.poll(io.waitScope);
  return told;
}

}  // namespace

int serveMetrics(const NetdLine& line) {
  startNetdLog();
  auto listening = listenOn(*line.listen);
  if (!listening) return failed("listen " + line.listen->str(), listening.error());
  kj::AutoCloseFd listener = kj::mv(listening).value();
  const std::string where = ListenAddress::boundTo(listener.get()).str();
  if (const auto failure = becomeNobody(line.user, listener.get())) {
    return failed("drop", failure->str());
  }
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  auto io = kj::setupAsyncIo();
  auto toldToEnd = whenToldToEnd(io);
  const uid_t uid = geteuid();
  if (const auto failure = loadFilter(kNetdMetricsRules)) return failed("filter", failure->str());

  kj::Timer& timer = io.provider->getTimer();
  NetdCounters counters;
  PlugindCaller plugind(line.plugind, *io.lowLevelProvider, timer);
  NewsCache news(plugind, timer, counters);
  HttpDoor door(kj::mv(listener), {io.unixEventPort, *io.lowLevelProvider, timer, news, counters});
  netdLog(NetdEvent::kStarted,
          {{"listen", where}, {"plugind", line.plugind}, {"uid", std::to_string(uid)}});
  io.waitScope.setBusyPollInterval(kTurnsBetweenPolls);
  toldToEnd.exclusiveJoin(door.run()).wait(io.waitScope);
  netdLog(NetdEvent::kEnding, {{"why", "signal"}});
  std::_Exit(0);
}

}  // namespace vfiogate
