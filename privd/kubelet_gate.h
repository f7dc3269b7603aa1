#pragma once
// The kubelet's device-plugin directory: the sockets that privd makes and dials there for others.

#include "ipc/socket/unix_socket.h"
#include "ipc/types/resource_name.h"
#include "privd/name_watch.h"

#include <kj/async-unix.h>
#include <kj/string.h>
#include <kj/vector.h>

#include <set>

namespace vfiogate {

/// A socket's file name in the kubelet's directory, `vfiogate-<16 hex digits>.sock`: the digits are
/// the first of the SHA-256 of the resource's name. Of fixed length, whatever the resource's.
kj::String socketNameOf(const ResourceName& resource);

/// Makes and dials sockets below `<kubelet-dir>/device-plugins`, and reads no byte that goes over
/// them. What belongs to resources outside `prefixes` is refused.
class KubeletGate {
public:
  KubeletGate(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr kubeletDir,
              kj::Vector<kj::String> prefixes);

  enum class Refusal { kForeignPrefix, kTooMany };
  struct Listener {
    kj::String endpoint;  ///< the file's name, which Register tells the kubelet
    kj::AutoCloseFd fd;
  };

  /// Null: the resource may be served. At most 64 resources in privd's life.
  kj::Maybe<Refusal> refuse(const ResourceName& resource) const;

  /// A listening socket for a resource that refuse() lets through; the one before is replaced.
  Result<Listener, SocketError> listen(const ResourceName& resource);

  /// A connection to the kubelet's registration socket.
  Result<kj::AutoCloseFd, SocketError> dial() const;

  /// Counts how often the kubelet made its registration socket.
  NameWatch& registrationSocket() { return registrationSocket_; }

private:
  kj::String directory_;
  kj::Vector<kj::String> prefixes_;
  NameWatch registrationSocket_;
  std::set<ResourceName> served_;
};

}  // namespace vfiogate
