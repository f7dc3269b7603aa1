#pragma once
// What plugind needs of privd to speak with the kubelet, whose sockets belong to root.

#include "ipc/base/kube_names.h"
#include "ipc/base/result.h"

#include <kj/async.h>
#include <kj/io.h>

#include <cstdint>
#include <string>

namespace vfiogate {

/// Why there is no socket or file now, for people, with what would mend it.
struct SocketRefusal {
  std::string why;
  bool absent = false;  ///< the kubelet has not made it, or not yet
};

/// A listening socket in the kubelet's directory.
struct PluginSocket {
  kj::AutoCloseFd listener;
  std::string endpoint;  ///< its file name, for Register
};

/// The two of a DRA driver.
enum class DraSocket : std::uint8_t { kService, kRegistration };

/// Where a DRA driver is found.
class DraSockets {
public:
  /// A new listener in place of the one before. `endpoint` is its whole path.
  virtual kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                        DraSocket socket) = 0;

protected:
  ~DraSockets() = default;
};

class KubeletSockets {
public:
  /// A connection to the kubelet's registration socket.
  virtual kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialKubelet() = 0;
  /// A new listener for the resource, in place of the one before.
  virtual kj::Promise<Result<PluginSocket, SocketRefusal>> listenFor(
      const ResourceName& resource) = 0;

protected:
  ~KubeletSockets() = default;
};

}  // namespace vfiogate
