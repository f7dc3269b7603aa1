#pragma once
// Where plugind gets what the kubelet remembers: its checkpoint, and the way to PodResources.

#include "ipc/base/result.h"
#include "plugind/core/kubelet_memory.h"
#include "plugind/kubelet/kubelet_sockets.h"

#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <optional>
#include <string>

namespace vfiogate {

/// One version of the file `kubelet_internal_checkpoint`, unread.
struct CheckpointFile {
  std::string text;
  std::chrono::sys_time<std::chrono::nanoseconds> written;  ///< its modification time
  /// Of the registration socket, looked at after the file was opened: a version written before it
  /// changed speaks for an earlier kubelet. Absent: no kubelet has its socket there.
  std::optional<KubeletIdentity> kubelet;
};

class KubeletMemorySource {
public:
  /// The checkpoint as it is now.
  virtual kj::Promise<Result<CheckpointFile, SocketRefusal>> checkpoint() = 0;
  /// A connection to the kubelet's PodResources socket.
  virtual kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() = 0;

protected:
  ~KubeletMemorySource() = default;
};

}  // namespace vfiogate
