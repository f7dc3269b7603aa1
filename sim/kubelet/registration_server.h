#pragma once
// The Registration service on kubelet.sock.

#include "sim/kubelet/base/lasting_socket.h"
#include "sim/kubelet/kubelet_sim.h"

#include "proto/deviceplugin.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace vfiogate::sim {

/// Serves from construction to destruction. The socket's file stays.
class KubeletSim::Service final : public v1beta1::Registration::Service {
public:
  Service(KubeletSim& kubelet, const std::string& socketPath);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* answer) override;

private:
  /// Takes the call and does not answer while the kubelet and the caller live.
  grpc::Status keepSilent(const grpc::ServerContext& context, const std::string& resource);

  KubeletSim& kubelet_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LastingSocket> socket_;
};

}  // namespace vfiogate::sim
