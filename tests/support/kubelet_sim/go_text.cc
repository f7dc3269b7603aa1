#include "tests/support/kubelet_sim/go_text.h"

#include <array>

namespace vfiogate::sim {

std::string goText(const grpc::Status& status) {
  static constexpr std::array kNames = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto code = static_cast<std::size_t>(status.error_code());
  const std::string name =
      code < kNames.size() ? kNames.at(code) : "Code(" + std::to_string(code) + ")";
  return "rpc error: code = " + name + " desc = " + status.error_message();
}

}  // namespace vfiogate::sim
