#include "netd/base/become_nobody.h"

#include "netd/base/log_line.h"
#include "rootless/start.h"
#include "seccomp/resource_limits.h"

#include <unistd.h>

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
  endWithoutMemory(netdLine(NetdEvent::kOutOfMemory) + "\n", restampLogLine);
  const auto tell = [](const LowerLimit& lower) {
    netdLog(NetdEvent::kLimitLower,
            {{"what", lower.what}, {"wanted", lower.wanted}, {"allowed", lower.allowed}});
  };
  if (auto failed = limitResources({.descriptors = kDescriptors, .memory = memory}, tell)) {
    return failed;
  }
  return becomeUser(user, keep, [&user]() {
    netdLog(NetdEvent::kNotRoot, {{"uid", geteuid()},
                                  {"wanted_uid", user.uid},
                                  {"then", "stays who it is: plugind needs this --netd-uid"}});
  });
}

}  // namespace vfiogate
