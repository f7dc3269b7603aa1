#pragma once
// Asks privd for the kubelet's sockets: the other side of privd's gate.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/kubelet/kubelet_sockets.h"
#include "plugind/turnstile.h"

#include <memory>

namespace vfiogate {

/// Absent: the kubelet has no registration socket.
std::optional<KubeletIdentity> identityOf(schema::SocketIdentity::Reader identity);

/// Pairs each call with the descriptor that comes beside it. Fails where the connection does.
class GateClient final : public KubeletSockets {
public:
  /// `calls` is borrowed.
  GateClient(schema::KubeletGate::Client gate, std::shared_ptr<DescriptorReceiver> descriptors,
             Turnstile& calls);

  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet(KubeletSocket socket) override;
  kj::Promise<Result<CheckpointFile, SocketRefusal>> openCheckpoint() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource) override;

  /// `observer` hears of the kubelet's files from the answer on.
  kj::Promise<void> watch(schema::KubeletObserver::Client observer);

private:
  /// A descriptor that is to come.
  struct Expected {
    std::uint32_t ticket;
    kj::Promise<kj::AutoCloseFd> fd;
  };
  Expected expect(DescriptorKind kind);

  schema::KubeletGate::Client gate_;
  std::shared_ptr<DescriptorReceiver> descriptors_;
  Turnstile& calls_;
  std::uint32_t lastTicket_ = 0;
};

}  // namespace vfiogate
