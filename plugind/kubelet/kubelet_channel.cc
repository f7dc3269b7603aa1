#include "plugind/kubelet/calls_to_kubelet.h"

#include "proto/podresources.grpc.pb.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>

namespace vfiogate {
namespace {

/// gRPC 1.51 ends its callback threads with the last channel or server that used them; where that
/// happens on one of these threads, at the end of a call, it frees their queue twice. This channel
/// has used them and stays. Without credentials it is one that fails every call at once.
struct LastingChannel {
  LastingChannel() {
    stub->async()->List(&context, &request, &answer, [](const grpc::Status&) {});
  }

  std::unique_ptr<v1::PodResourcesLister::Stub> stub = v1::PodResourcesLister::NewStub(
      grpc::CreateCustomChannel("", nullptr, grpc::ChannelArguments()));
  grpc::ClientContext context;
  v1::ListPodResourcesRequest request;
  v1::ListPodResourcesResponse answer;
};

}  // namespace

std::shared_ptr<grpc::Channel> channelOver(kj::AutoCloseFd connection, int longest) {
  static const LastingChannel lasting;
  grpc::ChannelArguments arguments;
  // What a Go client sends for a unix socket; gRPC's own would be "test.authority".
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetMaxReceiveMessageSize(longest);
  return grpc::CreateCustomInsecureChannelFromFd("kubelet", connection.release(), arguments);
}

}  // namespace vfiogate
