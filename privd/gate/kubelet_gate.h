#pragma once
// The kubelet's directories: the sockets that privd makes and dials there for others, and the file
// in which the kubelet remembers what it allocated.

#include "ipc/base/kube_names.h"
#include "ipc/gate/gate_answers.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/open_file.h"
#include "privd/base/served_names.h"

#include <kj/string.h>

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

/// A socket's file name in the kubelet's directory, `vfiogate-<16 hex digits>.sock`: the digits are
/// the first of the SHA-256 of the resource's name. Of fixed length, whatever the resource's.
kj::String socketNameOf(const ResourceName& resource);

/// Makes and dials sockets below `<kubelet-dir>`, and reads no byte that goes over them, nor of the
/// checkpoint. What belongs to resources that `names` does not cover is refused.
class KubeletGate {
public:
  /// Borrows `names`.
  KubeletGate(kj::StringPtr kubeletDir, const ServedNames& names);

  struct Listener {
    kj::String endpoint;  ///< the file's name, which the kubelet is told
    kj::AutoCloseFd fd;
  };

  /// kDone: the resource may be served. kForeign; kTooMany: at most 64 are at once; whose listener
  /// is closed is none.
  gate::Code refuse(const ResourceName& resource);

  /// A listening socket for a resource that refuse() lets through; the one before is replaced.
  Result<Listener, SocketError> listen(const ResourceName& resource);

  /// The same for the DRA driver, of both kinds that are its; `endpoint` is the whole path.
  Result<Listener, SocketError> listenDra(gate::Listen::Kind kind);
  /// Unlinks the driver's registration socket, whoever made it. True: it was there.
  Result<bool, ReadError> withdrawDra() const;

  /// A connection to the kubelet. ELOOP: a link is in its place, or a socket on which this process
  /// called listen().
  Result<kj::AutoCloseFd, SocketError> dial(gate::Dial::Socket socket) const;

  /// The checkpoint as it is now, complete, since the kubelet renames a new one into its place.
  /// EINVAL: not a regular file; ELOOP: a link; EFBIG: above 1 MiB.
  Result<RegularFile, ReadError> openCheckpoint() const;

  /// What the kubelet made: its sockets and the checkpoint.
  gate::WatchedFiles readFiles() const;
  /// In which what readFiles() tells comes and goes.
  std::vector<std::string> watchedDirectories() const;

private:
  void forgetUnserved();
  kj::String pathOf(const ResourceName& resource) const;
  kj::String registrationName() const;

  const ServedNames& names_;
  pid_t self_;
  kj::String directory_;
  kj::String podResourcesDirectory_;
  kj::String registrationSocket_;
  kj::String podResourcesSocket_;
  kj::String checkpoint_;
  kj::String draDirectory_;
  kj::String draRegistry_;
  std::set<ResourceName> served_;
};

}  // namespace vfiogate
