#include "sim/node/kernel_events.h"

#include <kj/debug.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace vfiogate::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRoom = 4 << 20;

kj::AutoCloseFd eventSocket() {
  return kj::AutoCloseFd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
}

/// "ACTION@PATH", then "KEY=VALUE" fields, each ended by a zero byte.
KernelEvent readEvent(std::string_view text) {
  KernelEvent event;
  event.heard = Clock::now();
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      event.fields.emplace(part.substr(0, equals), part.substr(equals + 1));
    } else if (const std::size_t at = part.find('@'); at != std::string_view::npos) {
      event.action = part.substr(0, at);
      event.path = part.substr(at + 1);
    }
  }
  return event;
}

}  // namespace

KernelEvents::KernelEvents() : socket_(eventSocket()) {
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kRoom, sizeof kRoom);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;
  const int bound = bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  KJ_REQUIRE(bound == 0, "the kernel's events cannot be heard", errno);
}

bool KernelEvents::take(std::chrono::milliseconds patience) {
  pollfd waiting{socket_.get(), POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, 8192> buffer{};
  const ssize_t got = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    heard_.push_back(readEvent({buffer.data(), static_cast<std::size_t>(got)}));
  }
  return true;
}

std::optional<KernelEvent> KernelEvents::await(std::size_t from,
                                               const std::function<bool(const KernelEvent&)>& fits,
                                               std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (std::size_t next = from;;) {
    for (; next < heard_.size(); ++next) {
      if (fits(heard_[next])) return heard_[next];
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || !take(left)) return std::nullopt;
  }
}

std::size_t KernelEvents::count() {
  while (take(std::chrono::milliseconds(0))) {
  }
  return heard_.size();
}

std::string KernelEvents::about(std::size_t from, const std::string& address) {
  count();
  std::string text;
  for (std::size_t index = from; index < heard_.size(); ++index) {
    if (heard_[index].path.find("/" + address) == std::string::npos) continue;
    text += (text.empty() ? "" : " ") + heard_[index].action;
  }
  return text;
}

std::string forgeEvent(pid_t port) {
  using namespace std::string_view_literals;
  constexpr std::string_view kText =
      "change@/devices/pci0000:00/0000:00:04.0\0ACTION=change\0SUBSYSTEM=pci\0SEQNUM=1\0"sv;
  sockaddr_nl to{};
  to.nl_family = AF_NETLINK;
  to.nl_pid = static_cast<std::uint32_t>(port);
  const kj::AutoCloseFd from = eventSocket();
  const ssize_t sent = sendto(from, kText.data(), kText.size(), 0,
                              reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return sent < 0 ? std::string("not sent: ") + std::strerror(errno) : "";
}

}  // namespace vfiogate::sim
