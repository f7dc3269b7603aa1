#pragma once
// A gRPC channel over a connection that privd dialled.

#include <grpcpp/channel.h>

#include <kj/io.h>

#include <memory>

namespace vfiogate {

/// Speaks as a Go client does on a local socket. The channel owns the connection, and has no state
/// to ask for: GetState() always says SHUTDOWN. `longest`: bytes of a message that it takes.
std::shared_ptr<grpc::Channel> channelOver(kj::AutoCloseFd connection, int longest);

}  // namespace vfiogate
