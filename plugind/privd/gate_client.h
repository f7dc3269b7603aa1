#pragma once
// Asks privd's gate for the kubelet's sockets, and for files.

#include "ipc/base/result.h"
#include "plugind/kubelet/memory_source.h"
#include "plugind/privd/gate_channel.h"

#include <cstdint>
#include <string>

namespace vfiogate {

/// plugind's configuration as the gate handed it over.
struct ConfigurationFile {
  std::string text;
  gate::FileIdentity identity;
};

/// Fails where the connection does.
class GateClient final : public KubeletSockets, public KubeletMemorySource, public DraSockets {
public:
  /// Borrows both.
  GateClient(ChannelToGate& gate, SessionCalls& calls) : gate_(gate), calls_(calls) {}

  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(const ResourceName& resource) override;
  kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint() override;
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() override;
  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket) override;

  /// The whole file, read. Refused: there is none, or the connection has no right to it.
  kj::Promise<Result<ConfigurationFile, SocketRefusal>> configuration();

private:
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dial(gate::Dial::Socket socket);
  kj::Promise<Result<PluginSocket, SocketRefusal>> listen(gate::Listen listener,
                                                          const char* foreign);
  template <typename T, typename Take>
  kj::Promise<Result<T, SocketRefusal>> open(gate::Open::File file, const char* what, Take take);

  ChannelToGate& gate_;
  SessionCalls& calls_;
};

KubeletIdentity identityOf(const gate::FileIdentity& identity);

/// "what: why", why being the error's name for people.
std::string withErrno(const char* what, std::uint16_t error);

/// The whole of a file of `size` bytes, as privd says. `fd` (borrowed) is at its beginning. Never
/// waits: it is a regular file. Error: for people; also if it is above 1 MiB, which privd lets
/// nothing be.
Result<std::string, std::string> readPosted(int fd, std::uint32_t size);

}  // namespace vfiogate
