#pragma once
// How the kubelet, a Go program, prints what a plugin answered.

#include <grpcpp/support/status.h>

#include <string>

namespace vfiogate::sim {

/// "rpc error: code = <name> desc = <text>".
std::string goText(const grpc::Status& status);

}  // namespace vfiogate::sim
