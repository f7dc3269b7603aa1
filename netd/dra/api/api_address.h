#pragma once
// The API server as kj-http dials it.

#include "ipc/base/result.h"
#include "netd/dra/api/api_url.h"
#include "netd/dra/api/tls_connector.h"

#include <kj/async-io.h>

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

namespace vfiogate {

struct SocketTarget {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

/// Asks the resolver: before the lock-down. Error: for people.
Result<std::vector<SocketTarget>, std::string> resolveApi(const ApiUrl& url);

/// Dials these one after the other, the next one after a failure; TLS where there is a connector.
class ApiAddress final : public kj::NetworkAddress {
public:
  /// Borrows `streams` and `tls`. At least one target.
  ApiAddress(kj::LowLevelAsyncIoProvider& streams, std::vector<SocketTarget> targets,
             kj::Maybe<TlsConnector&> tls)
      : streams_(streams), targets_(std::move(targets)), tls_(tls) {}

  kj::Promise<kj::Own<kj::AsyncIoStream>> connect() override;
  /// The rest of the interface has no use here, and fails.
  kj::Own<kj::ConnectionReceiver> listen() override;
  kj::Own<kj::NetworkAddress> clone() override;
  kj::String toString() override { return kj::str("the API server"); }

private:
  kj::Promise<kj::Own<kj::AsyncIoStream>> dial();

  kj::LowLevelAsyncIoProvider& streams_;
  const std::vector<SocketTarget> targets_;
  kj::Maybe<TlsConnector&> tls_;
  std::size_t next_ = 0;
};

}  // namespace vfiogate
