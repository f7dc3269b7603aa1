#pragma once
// The kubelet's device-plugin directory: the sockets that privd makes and dials there for others.

#include "ipc/socket/unix_socket.h"
#include "ipc/types/resource_name.h"
#include "privd/name_watch.h"

#include <kj/async-unix.h>
#include <kj/string.h>
#include <kj/vector.h>

#include <cstdint>
#include <set>

namespace vfiogate {

/// A socket's file name in the kubelet's directory, `vfiogate-<16 hex digits>.sock`: the digits are
/// the first of the SHA-256 of the resource's name. Of fixed length, whatever the resource's.
kj::String socketNameOf(const ResourceName& resource);

/// Makes and dials sockets below `<kubelet-dir>`, opens the checkpoint there, and reads no byte of
/// either. What belongs to resources outside `prefixes` is refused.
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

  enum class Socket { kRegistration, kPodResources };
  /// A connection to one of the kubelet's own sockets.
  Result<kj::AutoCloseFd, SocketError> dial(Socket socket) const;

  /// One version of the kubelet's checkpoint.
  struct Checkpoint {
    kj::AutoCloseFd fd;     ///< for reading
    std::int64_t modified;  ///< nanoseconds since 1970
  };
  /// Opens it. Error: an errno; EFBIG for what is not a regular file of at most 1 MiB.
  Result<Checkpoint, int> checkpoint() const;

  /// Of the registration socket: another one is another kubelet process.
  struct Identity {
    std::uint64_t inode;
    std::int64_t changed;  ///< its change time, nanoseconds since 1970
  };
  kj::Maybe<Identity> kubelet() const;

  /// Count how often the kubelet made its sockets and replaced its checkpoint.
  NameWatch& registrationSocket() { return registrationSocket_; }
  NameWatch& podResourcesSocket() { return podResourcesSocket_; }
  NameWatch& checkpointFile() { return checkpointFile_; }

private:
  kj::String directory_;
  kj::String podResources_;
  kj::Vector<kj::String> prefixes_;
  NameWatch registrationSocket_;
  NameWatch podResourcesSocket_;
  NameWatch checkpointFile_;
  std::set<ResourceName> served_;
};

}  // namespace vfiogate
