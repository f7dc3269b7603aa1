#include "plugind/kubelet/calls_to_kubelet.h"

#include "proto/deviceplugin.grpc.pb.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <utility>

namespace vfiogate {
namespace {

/// Register answers with nothing.
constexpr int kLongestAnswer = 4096;

/// All that gRPC needs until it calls back, kept by both sides.
struct RegisterCall {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1beta1::Registration::Stub> stub;
  grpc::ClientContext context;
  v1beta1::RegisterRequest request;
  v1beta1::Empty answer;
};

}  // namespace

kj::Promise<grpc::Status> registerWithKubelet(kj::AutoCloseFd connection,
                                              const ResourceName& resource,
                                              const std::string& endpoint) {
  const auto call = std::make_shared<RegisterCall>();
  call->channel = channelOver(kj::mv(connection), kLongestAnswer);
  call->stub = v1beta1::Registration::NewStub(call->channel);
  call->context.set_deadline(std::chrono::system_clock::now() + kRegisterDeadline);
  call->request.set_version("v1beta1");
  call->request.set_endpoint(endpoint);
  call->request.set_resource_name(resource.str());

  auto pair = kj::newPromiseAndCrossThreadFulfiller<grpc::Status>();
  const auto fulfiller = std::make_shared<kj::Own<kj::CrossThreadPromiseFulfiller<grpc::Status>>>(
      kj::mv(pair.fulfiller));
  call->stub->async()->Register(
      &call->context, &call->request, &call->answer,
      [call, fulfiller](grpc::Status status) { (*fulfiller)->fulfill(kj::mv(status)); });
  return pair.promise.attach(kj::defer([call]() { call->context.TryCancel(); }));
}

}  // namespace vfiogate
