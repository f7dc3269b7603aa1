#include "privd/scan/uevent_socket.h"

#include "privd/base/log_line.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr int kReceiveBuffer = 8 << 20;
constexpr unsigned kKernelGroup = 1;
/// So that a flood of events cannot keep the loop from its other work.
constexpr int kMostAtOnce = 1024;

/// True if the kernel says that the kernel, or root through it, sent this message.
bool fromKernel(const msghdr& message, const sockaddr_nl& sender) {
  if (sender.nl_pid != 0) return false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials = {};
    memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
    return credentials.uid == 0;
  }
  return false;
}

}  // namespace

Result<kj::AutoCloseFd, int> openUeventSocket() {
  kj::AutoCloseFd fd(
      socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (fd.get() < 0) return Failure{errno};
  // The default holds some 160 events, a burst of virtual functions is more. Forcing it needs a
  // capability that a pod does not have; then what the system allows must do, and losses rescan.
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof(kReceiveBuffer)) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  }
  constexpr int kOn = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &kOn, sizeof(kOn)) != 0) return Failure{errno};
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return Failure{errno};
  return kj::mv(fd);
}

UeventListener::UeventListener(kj::UnixEventPort& port, kj::AutoCloseFd socket,
                               kj::Function<void(const Places&)> hint, DiscoveryCounts& counts)
    : socket_(kj::mv(socket)),
      observer_(port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      hint_(kj::mv(hint)),
      counts_(counts),
      task_(listen().eagerlyEvaluate(nullptr)) {}

kj::Promise<void> UeventListener::listen() {
  if (!drain()) return kj::evalLater([this]() { return listen(); });
  return observer_.whenBecomesReadable().then([this]() { return listen(); });
}

bool UeventListener::drain() {
  char text[8192];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  for (int i = 0; i < kMostAtOnce; ++i) {
    sockaddr_nl sender = {};
    iovec part = {text, sizeof(text)};
    msghdr message = {};
    message.msg_name = &sender;
    message.msg_namelen = sizeof(sender);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (size < 0) {
      if (errno != ENOBUFS) return true;
      // Said once, before the events that are still queued.
      const std::uint64_t times = ++counts_[DiscoveryCount::kLosses];
      logLine(LogEvent::kUeventsLost, {{"times", kj::str(times)}});
      hint_({});
      continue;
    }
    if (!fromKernel(message, sender)) {
      const std::uint64_t times = ++counts_[DiscoveryCount::kForeign];
      if (std::has_single_bit(times)) {  // the 1st, 2nd, 4th, 8th: never a flood
        logLine(LogEvent::kUeventForeign,
                {{"port", kj::str(sender.nl_pid)}, {"times", kj::str(times)}});
      }
      continue;
    }
    if (const auto where = hintOf(std::string_view(text, static_cast<std::size_t>(size)))) {
      ++counts_[DiscoveryCount::kHints];
      hint_(*where);
    }
  }
  return false;
}

}  // namespace vfiogate
