#include "netd/base/become_nobody.h"

#include "netd/base/log_line.h"
#include "seccomp/resource_limits.h"

#include <kj/async-unix.h>

#include <unistd.h>

#include <csignal>

namespace vfiogate {
namespace {

/// 64 clients of `netd metrics` at a time, and their questions.
constexpr std::uint64_t kDescriptors = 256;

}  // namespace

int startFailed(const std::string& step, const std::string& why) {
  netdLog(NetdEvent::kStartFailed, {{"step", step}, {"why", why}});
  return 1;
}

std::optional<StepFailure> becomeNobody(const Identity& user, std::span<const int> keep,
                                        std::uint64_t memory) {
  endWithoutMemory("level=critical event=out_of_memory\n");
  const auto tell = [](const LowerLimit& lower) {
    netdLog(NetdEvent::kLimitLower, {{"what", lower.what},
                                     {"wanted", std::to_string(lower.wanted)},
                                     {"allowed", std::to_string(lower.allowed)}});
  };
  if (auto failed = limitResources({.descriptors = kDescriptors, .memory = memory}, tell)) {
    return failed;
  }
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
