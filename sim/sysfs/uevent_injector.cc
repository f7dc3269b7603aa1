#include "sim/sysfs/uevent_injector.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate::sim {
namespace {

constexpr std::uint16_t kAnyMessageType = NLMSG_MIN_TYPE;

/// Reads the kernel's acknowledgement.
int acknowledged(int socketFd) {
  std::array<char, 8192> buffer{};
  const ssize_t got = ::recv(socketFd, buffer.data(), buffer.size(), 0);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) return EPROTO;
  nlmsghdr header{};
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.nlmsg_type != NLMSG_ERROR) return EPROTO;
  nlmsgerr answer{};
  std::memcpy(&answer, buffer.data() + NLMSG_HDRLEN, sizeof answer);
  return -answer.error;
}

}  // namespace

Result<UeventInjector, std::string> UeventInjector::open() {
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
  if (fd < 0) return Failure{std::string("netlink socket: ") + std::strerror(errno)};
  UeventInjector injector{kj::AutoCloseFd(fd)};
  const int error = injector.inject({"add", "/module/sim_sysfs", "module", {}});
  if (error == EPERM) {
    return Failure{
        std::string("injecting needs CAP_SYS_ADMIN over this network namespace: run it "
                    "in `unshare -n` as root or in `unshare -Urn`")};
  }
  if (error != 0) return Failure{std::string("injecting: ") + std::strerror(error)};
  return injector;
}

int UeventInjector::inject(const Uevent& event) {
  const std::string text = event.datagram();
  std::string message(NLMSG_HDRLEN, '\0');
  message += text;
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.nlmsg_type = kAnyMessageType;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  std::memcpy(message.data(), &header, sizeof header);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const ssize_t sent = ::sendto(socket_.get(), message.data(), message.size(), 0,
                                reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  return sent < 0 ? errno : acknowledged(socket_.get());
}

std::optional<std::string> hostNetworkNamespace() {
  struct stat own {};
  struct stat init {};
  // Where process 1 may not be read we are confined, and injecting would be refused if it mattered.
  if (::stat("/proc/self/ns/net", &own) != 0 || ::stat("/proc/1/ns/net", &init) != 0) {
    return std::nullopt;
  }
  if (own.st_ino != init.st_ino || own.st_dev != init.st_dev) return std::nullopt;
  return "this is the network namespace of process 1: run it in `unshare -n`, or ask for "
         "--uevents on";
}

}  // namespace vfiogate::sim
