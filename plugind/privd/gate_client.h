#pragma once
// Asks privd for the kubelet's sockets: the other side of privd's gate.

#include "ipc/base/result.h"
#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "plugind/kubelet/memory_source.h"
#include "plugind/privd/session_calls.h"

#include <cstdint>
#include <memory>
#include <string>

namespace vfiogate {

/// Pairs each call with the descriptor that comes beside it. Fails where the connection does, which
/// ends where a call fails, or takes too long.
class GateClient final : public KubeletSockets, public KubeletMemorySource, public DraSockets {
public:
  /// `calls` is borrowed.
  GateClient(schema::KubeletGate::Client gate, std::shared_ptr<DescriptorReceiver> descriptors,
             SessionCalls& calls);

  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource) override;
  kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint() override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() override;

  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket) override;

  /// `observer` hears at once what there is of the kubelet, then what is new.
  kj::Promise<void> watch(schema::KubeletObserver::Client observer);

private:
  /// A descriptor that is to come.
  struct Expected {
    std::uint32_t ticket;
    kj::Promise<kj::AutoCloseFd> fd;
  };
  Expected expect(DescriptorKind kind);
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dial(schema::KubeletSocket socket);

  schema::KubeletGate::Client gate_;
  std::shared_ptr<DescriptorReceiver> descriptors_;
  SessionCalls& calls_;
  std::uint32_t lastTicket_ = 0;
};

KubeletIdentity identityOf(schema::FileIdentity::Reader identity);

/// The whole of a file of `size` bytes, as privd says. `fd` (borrowed) is at its beginning. Never
/// waits: it is a regular file. Error: for people; also if it is above 1 MiB, which privd lets
/// nothing be.
Result<std::string, std::string> readPosted(int fd, std::uint32_t size);

}  // namespace vfiogate
