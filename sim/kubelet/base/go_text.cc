#include "sim/kubelet/base/checkpoint_format.h"

#include <grpcpp/support/status.h>

#include <array>
#include <map>

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

std::string goJson(const std::string& json) {
  // Outside of strings they do not occur.
  static const std::map<char, std::string> kEscapes = {
      {'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}};
  std::string text;
  for (const char c : json) {
    const auto escape = kEscapes.find(c);
    text += escape == kEscapes.end() ? std::string(1, c) : escape->second;
  }
  return text;
}

}  // namespace vfiogate::sim
