#pragma once
// plugind as netd's self-test plays it.

#include "ipc/schema/plugind.capnp.h"

#include <kj/async-io.h>
#include <kj/vector.h>

#include <string>

namespace vfiogate {

/// Listens at `directory`/plugind.sock for as long as it lives, and is ready.
class PlayedPlugind {
public:
  /// Borrows `io`. Throws kj::Exception.
  PlayedPlugind(kj::AsyncIoContext& io, const std::string& directory);
  ~PlayedPlugind() noexcept(false);
  KJ_DISALLOW_COPY(PlayedPlugind);

  /// The API server's stand-in that netd brings when it attaches. Once.
  kj::Promise<schema::ApiServer::Client> attached() { return kj::mv(attached_.promise); }

private:
  class Control;
  struct Connection;

  kj::Promise<void> acceptForever();

  kj::PromiseFulfillerPair<schema::ApiServer::Client> attached_ =
      kj::newPromiseAndFulfiller<schema::ApiServer::Client>();
  kj::Own<kj::ConnectionReceiver> listener_;
  kj::Vector<kj::Own<Connection>> connections_;
  kj::Promise<void> accepting_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
