#include "plugind/kubelet/kubelet_channel.h"

#include <grpcpp/create_channel_posix.h>

namespace vfiogate {

std::shared_ptr<grpc::Channel> channelOver(kj::AutoCloseFd connection, int longest) {
  grpc::ChannelArguments arguments;
  // What a Go client sends for a unix socket; gRPC's own would be "test.authority".
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetMaxReceiveMessageSize(longest);
  return grpc::CreateCustomInsecureChannelFromFd("kubelet", connection.release(), arguments);
}

}  // namespace vfiogate
