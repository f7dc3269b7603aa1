#include "netd/become_nobody.h"

#include "netd/log_line.h"

#include <kj/async-unix.h>

#include <unistd.h>

#include <csignal>

namespace vfiogate {

int startFailed(const std::string& step, const std::string& why) {
  netdLog(NetdEvent::kStartFailed, {{"step", step}, {"why", why}});
  return 1;
}

std::optional<StepFailure> becomeNobody(const Identity& user, std::span<const int> keep) {
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

void captureEndSignals() {
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
}

kj::Promise<void> whenToldToEnd(kj::AsyncIoContext& io) {
  auto told = io.unixEventPort.onSignal(SIGTERM)
                  .exclusiveJoin(io.unixEventPort.onSignal(SIGINT))
                  .ignoreResult();
  told.poll(io.waitScope);
  return told;
}

}  // namespace vfiogate
