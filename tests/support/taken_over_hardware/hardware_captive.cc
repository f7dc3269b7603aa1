#include "tests/support/taken_over_hardware/hardware_captive.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/unix_socket.h"
#include "privd/sandbox/hardware_places.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/load_filter.h"

#include <kj/debug.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr uid_t kHardwareId = 64531;

[[noreturn]] void giveUp(const std::string& why) {
  std::fprintf(stderr, "taken_over_hardware: %s\n", why.c_str());
  std::_Exit(2);
}

/// As the hardware process begins.
kj::AsyncIoContext becomeHardware() {
  // A buffer of its own choosing would make the C library ask the kernel what stdout is, later.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const Identity identity{kHardwareId, kHardwareId};
  if (const auto failure = dropPrivileges({.identity = identity})) giveUp(failure->str());
  return kj::setupAsyncIo();
}

}  // namespace

HardwareCaptive::HardwareCaptive(std::string plugind, const std::string& sysfs)
    : io(becomeHardware()), plugind_(std::move(plugind)) {
  io.waitScope.poll();
  HardwareOptions options;
  options.sysfs = sysfs;
  auto places = confineTo(allowedPlaces(kHardwarePlaces, placeValuesOf(options)), false);
  if (!places) giveUp(places.error().str());
  if (const auto failure = loadFilter(kHardwareRules)) giveUp(failure->str());
}

kj::AutoCloseFd HardwareCaptive::dialSilently() {
  while (true) {
    auto made = dialAt(plugind_.c_str());
    if (made) return kj::mv(made).value();
    pause(10 * kj::MILLISECONDS);
  }
}

kj::AutoCloseFd HardwareCaptive::dial() {
  while (true) {
    kj::AutoCloseFd connection = dialSilently();
    if (sendHardwareOpening(connection, kChannelVersion)) return connection;
    pause(10 * kj::MILLISECONDS);
  }
}

kj::AutoCloseFd HardwareCaptive::dialAs(PrivdRole role) {
  const kj::AutoCloseFd connection = dialSilently();
  auto channel = sendChannelOpening(connection, role, kChannelVersion);
  KJ_REQUIRE(channel.has_value(), channel.error().c_str());
  return kj::mv(channel).value();
}

void HardwareCaptive::pause(kj::Duration length) {
  io.provider->getTimer().afterDelay(length).wait(io.waitScope);
}

std::string HardwareCaptive::howItEnds(int fd, kj::Duration patience) {
  std::array<char, 65'536> bytes = {};
  kj::Timer& timer = io.provider->getTimer();
  const auto end = timer.now() + patience;
  while (timer.now() < end) {
    iovec part = {bytes.data(), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return "hung up";
    if (got < 0) pause(5 * kj::MILLISECONDS);
  }
  return "served on";
}

}  // namespace vfiogate::test
