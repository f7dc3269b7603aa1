#pragma once
// What plugind needs of privd to speak with the kubelet, whose sockets belong to root.

#include "ipc/types/resource_name.h"
#include "ipc/types/result.h"
#include "plugind/core/kubelet_memory.h"

#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {

/// Why there is no socket now, for people, with what would mend it.
struct SocketRefusal {
  std::string why;
};

/// A listening socket in the kubelet's directory.
struct PluginSocket {
  kj::AutoCloseFd listener;
  std::string endpoint;  ///< its file name, for Register
};

/// The kubelet's own sockets.
enum class KubeletSocket : std::uint8_t { kRegistration, kPodResources };

/// One version of the kubelet's checkpoint, as privd opened it.
struct CheckpointFile {
  kj::AutoCloseFd fd;
  std::chrono::sys_time<std::chrono::nanoseconds> modified;
  std::optional<KubeletIdentity> kubelet;  ///< absent: it has no registration socket now
};

class KubeletSockets {
public:
  /// A connection to one of the kubelet's own sockets.
  virtual kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet(KubeletSocket socket) = 0;
  virtual kj::Promise<Result<CheckpointFile, SocketRefusal>> openCheckpoint() = 0;
  /// A new listener for the resource, in place of the one before.
  virtual kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(
      const ResourceName& resource) = 0;

protected:
  ~KubeletSockets() = default;
};

}  // namespace vfiogate
