#pragma once
// Listens for kernel events as a program of this project does.

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <kj/io.h>

namespace vfiogate::sim {

/// Hears what the kernel sends into this network namespace; what has another sender than the kernel
/// (port 0) is dropped, and so is what is not about PCI or VFIO.
class UeventListener {
public:
  UeventListener()
      : socket_(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT)) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = 1;
    bound_ =
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool bound() const { return bound_; }

  /// True as soon as something has arrived; for events that a simulation holds back.
  bool await(std::chrono::milliseconds patience) const {
    pollfd wait{socket_.get(), POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(patience.count())) > 0;
  }

  /// What has arrived, each as "action name"; delivery is synchronous, so nothing is on its way.
  std::vector<std::string> take() {
    std::vector<std::string> heard;
    for (;;) {
      std::array<char, 8192> buffer{};
      sockaddr_nl sender{};
      socklen_t length = sizeof sender;
      const ssize_t got = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&sender), &length);
      if (got <= 0) return heard;
      const std::string text(buffer.data(), static_cast<std::size_t>(got));
      const bool ours = text.find("SUBSYSTEM=pci") != std::string::npos ||
                        text.find("SUBSYSTEM=vfio") != std::string::npos;
      if (sender.nl_pid != 0 || !ours || text.find("SEQNUM=") == std::string::npos) continue;
      const std::string head = text.substr(0, text.find('\0'));
      heard.push_back(head.substr(0, head.find('@')) + " " + head.substr(head.rfind('/') + 1));
    }
  }

private:
  kj::AutoCloseFd socket_;
  bool bound_ = false;
};

}  // namespace vfiogate::sim
