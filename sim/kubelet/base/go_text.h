#pragma once
// How the kubelet, a Go program, prints what a plugin answered, and JSON.

#include <grpcpp/support/status.h>

#include <string>

namespace vfiogate::sim {

/// "rpc error: code = <name> desc = <text>".
std::string goText(const grpc::Status& status);

/// JSON as Go's writer leaves it, which hides three signs from HTML.
std::string goJson(const std::string& json);

}  // namespace vfiogate::sim
