#pragma once
// One call that came in, as those see it who answer it.

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace vfiogate {

/// Where the answer goes. Any thread. What comes after the end of the call goes nowhere.
class Responder {
public:
  virtual ~Responder() = default;

  /// One more message of a stream. Not before the one before it was written.
  virtual void write(const google::protobuf::MessageLite& message) = 0;
  /// The answer of a call that is none, with it the end. Once, and after the last write.
  virtual void finish(const google::protobuf::MessageLite& answer) = 0;
  /// The end without an answer, or after the last message.
  virtual void finish(const grpc::Status& status) = 0;
};

/// Told of one call, on the queue's thread.
class CallObserver {
public:
  virtual ~CallObserver() = default;

  /// Of the message that was written last; false: it did not go out.
  virtual void written(bool sent) = 0;
  /// The client hung up, or is gone, or we end.
  virtual void hungUp() = 0;
  /// Last of all.
  virtual void over() = 0;
};

/// A method of a server.
struct Method {
  /// A new request, empty.
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> request;
  /// On the queue's thread. Null: it is answered already, or nobody needs to be told of it.
  std::function<std::shared_ptr<CallObserver>(const std::shared_ptr<Responder>&,
                                              const google::protobuf::MessageLite&)>
      open;
};

/// By path, "/package.Service/Method".
using Methods = std::map<std::string, Method, std::less<>>;

/// The method that `open` answers, which takes a Request.
template <typename Request, typename Open>
Method methodOf(Open open) {
  return {
      .request = []() { return std::make_unique<Request>(); },
      .open = [open = std::move(open)](
                  const std::shared_ptr<Responder>& responder,
                  const google::protobuf::MessageLite& request) -> std::shared_ptr<CallObserver> {
        return open(responder, static_cast<const Request&>(request));
      }};
}

}  // namespace vfiogate
