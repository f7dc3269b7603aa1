#pragma once
// Keeps one resource registered with the kubelet: serve first, then register.

#include "plugind/kubelet/backoff.h"
#include "plugind/kubelet/kubelet_sockets.h"
#include "plugind/kubelet/plugin_server.h"

#include <grpcpp/support/status.h>

#include <kj/async.h>
#include <kj/time.h>

#include <string>

namespace vfiogate {

/// Each attempt dials the kubelet, makes the plugin's socket anew, serves it, then calls Register.
/// In that order a socket is never made before a starting kubelet sweeps its directory: who can be
/// dialled has swept. The loop's thread only.
class Registrar {
public:
  /// Borrows everything; `server` is told of each new socket.
  Registrar(const ResourceName& resource, KubeletSockets& sockets, PluginServer& server,
            const LoopParts& loop);

  /// A new kubelet, or a resource that was never registered: at once, whatever went before.
  void registerNow();

  /// The kubelet let go of us: after a pause, unless an attempt is already under way.
  void registerAgain();

  /// privd is back: at once if this is not registered.
  void socketsAvailable();

  /// The kubelet opened ListAndWatch. If none follows a registration, the kubelet lost its side
  /// while it answered (kubelet-contract.md T3), and this registers again.
  void streamOpened() { streamSeen_ = true; }

  bool registered() const { return registered_; }
  /// Why the last attempt failed, for people; empty: it did not.
  const std::string& trouble() const { return lastComplaint_; }

private:
  kj::Promise<void> attemptUntilRegistered();
  kj::Promise<grpc::Status> attempt();
  kj::Promise<grpc::Status> registerOver(kj::AutoCloseFd connection);
  kj::Promise<void> awaitStream();
  kj::Promise<void> pauseAndAttempt();
  void complain(const std::string& why);

  const ResourceName& resource_;
  KubeletSockets& sockets_;
  PluginServer& server_;
  const LoopParts loop_;
  Backoff backoff_;
  bool registered_ = false;
  bool attempting_ = false;
  bool streamSeen_ = false;
  kj::TimePoint registeredAt_ = kj::origin<kj::TimePoint>();
  std::string lastComplaint_;
  kj::Promise<void> attempts_ = nullptr;
};

}  // namespace vfiogate
