#pragma once
// The kubelet's directories: the sockets that privd makes and dials there for others, and the file
// in which the kubelet remembers what it allocated.

#include "ipc/base/kube_names.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/name_watch.h"
#include "privd/base/open_file.h"

#include <kj/async-unix.h>
#include <kj/string.h>
#include <kj/vector.h>

#include <optional>
#include <set>

namespace vfiogate {

/// A socket's file name in the kubelet's directory, `vfiogate-<16 hex digits>.sock`: the digits are
/// the first of the SHA-256 of the resource's name. Of fixed length, whatever the resource's.
kj::String socketNameOf(const ResourceName& resource);

/// What the kubelet made; null: not there.
struct KubeletFiles {
  std::optional<FileIdentity> registration;  ///< its registration socket: which kubelet runs
  std::optional<FileIdentity> podResources;
  std::optional<FileIdentity> checkpoint;

  friend bool operator==(const KubeletFiles&, const KubeletFiles&) = default;
};

/// Makes and dials sockets below `<kubelet-dir>`, and reads no byte that goes over them, nor of the
/// checkpoint. What belongs to resources outside `prefixes` is refused, and what belongs to any DRA
/// driver but `draDriver`; empty: there is none. `ownSocket` is that of privd's commands, where a
/// connection of root's may do everything.
class KubeletGate {
public:
  KubeletGate(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr kubeletDir,
              kj::Vector<kj::String> prefixes, kj::StringPtr draDriver = "",
              kj::StringPtr ownSocket = "");

  enum class Refusal { kForeignPrefix, kTooMany };
  struct Listener {
    kj::String endpoint;  ///< the file's name, which the kubelet is told
    kj::AutoCloseFd fd;
  };

  /// True if a --resource-prefix does.
  bool covers(const ResourceName& resource) const;

  /// Null: the resource may be served. At most 64 are at once; whose listener is closed is none.
  kj::Maybe<Refusal> refuse(const ResourceName& resource);

  /// A listening socket for a resource that refuse() lets through; the one before is replaced.
  Result<Listener, SocketError> listen(const ResourceName& resource);

  kj::StringPtr draDriver() const { return draDriver_; }
  enum class DraSocket { kService, kRegistration };
  /// The same for the DRA driver; `endpoint` is the whole path.
  Result<Listener, SocketError> listenDra(DraSocket socket) const;
  /// Unlinks the driver's registration socket, whoever made it. True: it was there.
  Result<bool, ReadError> withdrawDra() const;

  enum class Socket { kRegistration, kPodResources };
  /// A connection to the kubelet. ELOOP: a link is in its place, or the socket is `ownSocket`.
  Result<kj::AutoCloseFd, SocketError> dial(Socket socket) const;

  /// The checkpoint as it is now, complete, since the kubelet renames a new one into its place.
  /// EINVAL: not a regular file; ELOOP: a link; EFBIG: above 1 MiB.
  Result<RegularFile, ReadError> openCheckpoint() const;

  KubeletFiles readFiles() const;

  /// Counts what came into the directories: readFiles() may tell something new when it is higher.
  std::uint64_t changes() const { return devicePlugins_.count() + podResources_.count(); }
  /// Resolves as soon as changes() is above `seen`.
  kj::Promise<void> changedSince(std::uint64_t seen);

private:
  void forgetUnserved();
  kj::String registrationName() const;

  kj::String directory_;
  kj::String podResourcesDirectory_;
  kj::String registrationSocket_;
  kj::String podResourcesSocket_;
  kj::String checkpoint_;
  kj::Vector<kj::String> prefixes_;
  kj::String draDriver_;
  kj::String draDirectory_;
  kj::String draRegistry_;
  kj::String ownSocket_;
  NameWatch devicePlugins_;
  NameWatch podResources_;
  std::set<ResourceName> served_;
};

}  // namespace vfiogate
