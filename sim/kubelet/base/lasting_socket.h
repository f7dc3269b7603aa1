#pragma once
// A listening socket whose file outlives it, as a killed kubelet's does.

#include <memory>
#include <string>
#include <thread>

namespace grpc {
class Server;
}

namespace vfiogate::sim {

/// Listens at a path and hands every connection to a gRPC server. Not gRPC's own listener: that one
/// unlinks the file when it closes, which whoever watches the directory would see.
class LastingSocket {
public:
  /// Throws std::system_error. `server` must outlive this.
  LastingSocket(const std::string& path, grpc::Server& server);
  /// Stops listening. The file stays.
  ~LastingSocket();
  LastingSocket(const LastingSocket&) = delete;
  LastingSocket& operator=(const LastingSocket&) = delete;

private:
  void acceptAll(grpc::Server& server) const;

  int listener_;
  std::thread accepting_;
};

}  // namespace vfiogate::sim
