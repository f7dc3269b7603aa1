#pragma once
// What makes the kernel say ETOOMANYREFS to whoever sends a descriptor.

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace vfiogate::test {

/// More descriptors under way than this process may have, which is without power meanwhile.
class Crowd {
public:
  Crowd() {
    for (int i = 0; i < 80; ++i) {
      KJ_ASSERT(sendPacket(pair_.ours, "x", pair_.ours) == PacketSent::kSent);
    }
    KJ_SYSCALL(syscall(SYS_capget, &header_, caps_.data()));
    auto weak = caps_;
    for (auto& half : weak) half.effective = 0;
    KJ_SYSCALL(syscall(SYS_capset, &header_, weak.data()));
    KJ_SYSCALL(getrlimit(RLIMIT_NOFILE, &before_));
    const rlimit few{64, before_.rlim_max};
    KJ_SYSCALL(setrlimit(RLIMIT_NOFILE, &few));
  }
  ~Crowd() noexcept(false) {
    KJ_SYSCALL(setrlimit(RLIMIT_NOFILE, &before_));
    KJ_SYSCALL(syscall(SYS_capset, &header_, caps_.data()));
  }
  KJ_DISALLOW_COPY(Crowd);

  void leave() const {
    for (int i = 0; i < 80; ++i) KJ_ASSERT(receivePacket(pair_.theirs, 1).has_value());
  }

private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> caps_{};
  rlimit before_{};
  PacketPair pair_ = packetPair().value();
};

}  // namespace vfiogate::test
