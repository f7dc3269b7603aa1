#pragma once
// A call over a connection that is there, which serves for that one call.

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/status.h>
#include <kj/async.h>
#include <kj/io.h>

#include <chrono>
#include <memory>

namespace vfiogate {

struct CallToMake {
  const char* path;  ///< "/package.Service/Method"
  const google::protobuf::MessageLite& request;
  std::shared_ptr<google::protobuf::MessageLite> answer;  ///< is filled in where the status is OK
  int longestAnswer;                                      ///< in bytes
  std::chrono::seconds deadline;                          ///< from now on
};

/// Speaks as a Go client does on a local socket. Always ends by the deadline; dropping the promise
/// cancels the call. The loop's thread only.
kj::Promise<grpc::Status> callOver(kj::AutoCloseFd connection, const CallToMake& call);

}  // namespace vfiogate
