#include "privd/loop/role_loop.h"

#include "ipc/gate/packet_socket.h"
#include "privd/base/log_line.h"
#include "seccomp/drop_privileges.h"

#include <csignal>
#include <random>
#include <span>

namespace vfiogate {
namespace {

constexpr auto kFirstPause = 250 * kj::MILLISECONDS;
constexpr auto kLongestTurn = 2 * kj::SECONDS;
constexpr auto kLeftOutPause = 10 * kj::SECONDS;

/// KJ asks the kernel for signals anew when it waits for others than before, which the filter
/// forbids: so these are waited for to the end, also while a change is brought to its own.
kj::Promise<void> takeForever(kj::UnixEventPort& port, int signal) {
  return port.onSignal(signal).then(
      [&port, signal](const siginfo_t&) { return takeForever(port, signal); });
}

/// The daemon says nothing: what can be read is its end.
kj::Promise<void> untilEnd(kj::UnixEventPort::FdObserver& observer, int socket) {
  if (!receivePacket(socket, 1)) return kj::READY_NOW;
  return observer.whenBecomesReadable().then(
      [&observer, socket]() { return untilEnd(observer, socket); });
}

kj::Promise<void> tellLeftOutForever(kj::Timer& timer) {
  return timer.afterDelay(kLeftOutPause).then([&timer]() {
    tellLeftOut();
    return tellLeftOutForever(timer);
  });
}

kj::Promise<void> awaitTurn(InstanceLock& lock, kj::Timer& timer, kj::Duration pause) {
  if (lock.tryTake()) return kj::READY_NOW;
  if (pause == kFirstPause) {
    logLine(LogEvent::kInstanceWaits, {{"holder", kj::str(lock.holder().c_str())}});
  }
  return timer.afterDelay(pause).then([&lock, &timer, pause]() {
    return awaitTurn(lock, timer, kj::min(pause * 2, kLongestTurn));
  });
}

}  // namespace

std::optional<std::string> beginRole(LogForm form, const ResourceLimits& limits, int readyFd) {
  beginLog(form);
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  if (const auto failure = limitResources(limits, tellLower)) return failure->str();
  const std::span kept(&readyFd, readyFd < 0 ? 0 : 1);
  if (const auto failure = dropPrivilegesAsIs(kept)) return failure->str();
  return std::nullopt;
}

RoleLoop::RoleLoop(int readyFd)
    : io_(kj::setupAsyncIo()),
      starter_(readyFd),
      ended_(anyEnd().fork()),
      signals_(takeForever(port(), SIGTERM)
                   .exclusiveJoin(takeForever(port(), SIGINT))
                   .eagerlyEvaluate(nullptr)),
      leftOut_(tellLeftOutForever(timer()).eagerlyEvaluate(nullptr)) {}

kj::Promise<void> RoleLoop::anyEnd() {
  auto signals = port().onSignal(SIGTERM).exclusiveJoin(port().onSignal(SIGINT)).ignoreResult();
  if (starter_.get() < 0) return signals;
  auto& observer =
      starterReadable_.emplace(port(), starter_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  return signals.exclusiveJoin(untilEnd(observer, starter_));
}

bool RoleLoop::tellReady() const {
  return starter_.get() < 0 || sendPacket(starter_, "1") == PacketSent::kSent;
}

kj::Promise<void> awaitTurn(InstanceLock& lock, kj::Timer& timer) {
  return awaitTurn(lock, timer, kFirstPause);
}

void tellStart(PrivdRole role, const BuildInfo& build, const Snapshot& first, BindingAsked asked) {
  logLine(LogEvent::kStarted, {{"role", kj::str(nameOf(role))},
                               {"version", kj::str(build.version.data())},
                               {"commit", kj::str(build.commit.data())},
                               {"date", kj::str(build.date.data())},
                               {"devices", kj::str(first.devices.size())},
                               {"groups", kj::str(first.groups.size())}});
  for (const NodeObstacle& obstacle : obstaclesOf(first, asked)) {
    logLine(LogEvent::kNodeObstacle,
            {{"reason", kj::str(obstacle.code.data())}, {"fix", kj::str(obstacle.fix.data())}});
  }
}

std::uint64_t drawNumber() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

}  // namespace vfiogate
