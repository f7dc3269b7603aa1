#pragma once
// The PodResources service at pod-resources/kubelet.sock (kubelet-contract.md 3).

#include "sim/kubelet/base/lasting_socket.h"
#include "sim/kubelet/base/rate_limit.h"
#include "sim/kubelet/sim_state.h"

#include "proto/podresources.grpc.pb.h"
#include "proto/podresources_v1alpha1.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace vfiogate::sim {

/// The old version of the service, beside the new one and under its rate limit.
class KubeletSim::OldPodResourcesServer final : public v1alpha1::PodResourcesLister::Service {
public:
  OldPodResourcesServer(State& state, RateLimit& limit) : state_(state), limit_(limit) {}

  grpc::Status List(grpc::ServerContext* context, const v1alpha1::ListPodResourcesRequest* request,
                    v1alpha1::ListPodResourcesResponse* response) override;

private:
  State& state_;
  RateLimit& limit_;
};

/// Serves from construction to destruction. The socket's file stays.
class KubeletSim::PodResourcesServer final : public v1::PodResourcesLister::Service {
public:
  /// Makes `directory` where it is missing, and the socket in it under another name first.
  PodResourcesServer(State& state, const std::string& directory);
  ~PodResourcesServer() override;
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;

  grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest* request,
                    v1::ListPodResourcesResponse* response) override;
  grpc::Status GetAllocatableResources(grpc::ServerContext* context,
                                       const v1::AllocatableResourcesRequest* request,
                                       v1::AllocatableResourcesResponse* response) override;
  grpc::Status Get(grpc::ServerContext* context, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override;

private:
  State& state_;
  RateLimit limit_;  ///< under the state's lock
  OldPodResourcesServer old_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LastingSocket> socket_;
};

}  // namespace vfiogate::sim
