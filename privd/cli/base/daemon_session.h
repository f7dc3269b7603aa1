#pragma once
// A session of the command line with the running daemon.

#include "ipc/base/result.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/socket/limited_client.h"

#include <kj/async-io.h>
#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Throws where the daemon breaks off.
class DaemonSession {
public:
  /// `socket` is connected.
  DaemonSession(kj::AsyncIoContext& io, kj::AutoCloseFd socket);

  /// Waits for the daemon's answer. Error: it is of another release; in words.
  Result<schema::Session::Client, std::string> enter();

  /// Resolves when the daemon is gone.
  kj::Promise<void> ended() { return daemon_.ended(); }

private:
  kj::AsyncIoContext& io_;
  LimitedClient daemon_;
};

}  // namespace vfiogate
