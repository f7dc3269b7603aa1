#include "rootless/start.h"

#include <kj/async-unix.h>

#include <unistd.h>

#include <csignal>

namespace vfiogate {

std::optional<StepFailure> becomeUser(const Identity& user, std::span<const int> keep,
                                      const std::function<void()>& staysOther) {
  Remaining remaining{.descriptors = keep};
  if (geteuid() == 0) {
    remaining.identity = user;
  } else if (geteuid() != user.uid) {
    staysOther();
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
