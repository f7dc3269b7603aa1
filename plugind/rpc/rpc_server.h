#pragma once
// A gRPC server on connections that are there: it makes no socket.

#include "plugind/rpc/served_call.h"

#include <kj/common.h>
#include <kj/io.h>

#include <memory>

namespace vfiogate {

struct ServerBounds {
  int longestRequest;  ///< in bytes
  int mostCalls;       ///< open at a time, of one connection
};

/// Serves for as long as it lives. Its calls come to an end after it, without being waited for:
/// what `methods` refers to has to live with them.
class RpcServer {
public:
  RpcServer(Methods methods, const ServerBounds& bounds);
  /// Ends every call.
  ~RpcServer() noexcept(false);
  KJ_DISALLOW_COPY(RpcServer);

  /// A connected socket that does not block.
  void serve(kj::AutoCloseFd connection);

private:
  class Served;
  struct Arrival;
  struct Ending;

  std::shared_ptr<Served> served_;
};

}  // namespace vfiogate
