#pragma once
// A gRPC server on connections accepted from listeners that privd made.

#include "plugind/base/task_queue.h"
#include "plugind/rpc/rpc_server.h"

#include <kj/io.h>

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace vfiogate {

/// Serves for as long as it lives, over any number of listeners one after the other. The loop's
/// thread only. It has no listening port of its own: gRPC makes no socket.
class HandedServer {
public:
  /// Takes connections of `kubeletUid` only. `name` is for the log.
  HandedServer(std::string name, Methods methods, const LoopDeps& loop, uid_t kubeletUid);
  ~HandedServer() noexcept(false);
  KJ_DISALLOW_COPY(HandedServer);

  /// Takes connections from `listener` from now on, and those that still wait in the one before.
  void listenOn(kj::AutoCloseFd listener);

private:
  struct Listener;

  void takeConnections();
  kj::Promise<void> acceptForever();
  kj::Promise<void> acceptAfterFailure(const kj::Exception& exception);

  const std::string name_;
  const LoopDeps loop_;
  const uid_t kubeletUid_;
  RpcServer server_;
  std::uint64_t refused_ = 0;
  kj::Own<Listener> listener_;
  bool starved_ = false;  ///< of descriptors, which is told once
  kj::Promise<void> accepting_ = nullptr;
};

}  // namespace vfiogate
