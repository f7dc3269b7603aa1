#include "plugind/rpc/rpc_server.h"

#include "plugind/rpc/server_call.h"

#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>

#include <kj/debug.h>

#include <array>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

grpc_arg argumentOf(const char* key, int value) {
  grpc_arg argument = {};
  argument.type = GRPC_ARG_INTEGER;
  argument.key = const_cast<char*>(key);  // gRPC only reads it
  argument.value.integer = value;
  return argument;
}

}  // namespace

/// gRPC's server and what it serves, until the last call has ended.
class RpcServer::Served {
public:
  Served(Methods methods, const ServerBounds& bounds)
      : methods_(std::make_shared<const Methods>(std::move(methods))) {
    grpc_completion_queue* const queue = callQueue();
    std::array arguments{argumentOf(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, bounds.longestRequest),
                         argumentOf(GRPC_ARG_MAX_CONCURRENT_STREAMS, bounds.mostCalls)};
    const grpc_channel_args all{arguments.size(), arguments.data()};
    server_ = grpc_server_create(&all, nullptr);
    grpc_server_register_completion_queue(server_, queue, nullptr);
    grpc_server_start(server_);
  }
  ~Served() { grpc_server_destroy(server_); }
  KJ_DISALLOW_COPY(Served);

  grpc_server* get() const { return server_; }

  /// Null: there is none at `path`.
  std::shared_ptr<const Method> methodAt(std::string_view path) const {
    const auto found = methods_->find(path);
    if (found == methods_->end()) return nullptr;
    return {methods_, &found->second};
  }

private:
  const std::shared_ptr<const Methods> methods_;
  grpc_server* server_ = nullptr;
};

/// Waits for the next call.
struct RpcServer::Arrival final : QueueStep {
  static void await(std::shared_ptr<Served> served) {
    grpc_server* const server = served->get();
    auto* const next = new Arrival;
    next->served = std::move(served);
    const auto refused =
        grpc_server_request_call(server, &next->call, &next->details, &next->metadata, callQueue(),
                                 callQueue(), next->tag());
    KJ_ASSERT(refused == GRPC_CALL_OK, "gRPC takes no calls", refused);
  }

  Arrival() {
    grpc_call_details_init(&details);
    grpc_metadata_array_init(&metadata);
  }
  ~Arrival() {
    grpc_call_details_destroy(&details);
    grpc_metadata_array_destroy(&metadata);
  }
  KJ_DISALLOW_COPY(Arrival);

  void over(bool done) override {
    const std::unique_ptr<Arrival> self(this);
    if (!done) return;  // the server ends
    await(served);
    const std::string_view path(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(details.method)),
                                GRPC_SLICE_LENGTH(details.method));
    ServerCall::open(call, served->methodAt(path));
  }

  std::shared_ptr<Served> served;
  grpc_call* call = nullptr;
  grpc_call_details details;
  grpc_metadata_array metadata;
};

/// Keeps what is served until gRPC is done with it.
struct RpcServer::Ending final : QueueStep {
  explicit Ending(std::shared_ptr<Served> ended) : served(std::move(ended)) {}
  void over(bool /*done*/) override { delete this; }

  std::shared_ptr<Served> served;
};

RpcServer::RpcServer(Methods methods, const ServerBounds& bounds)
    : served_(std::make_shared<Served>(std::move(methods), bounds)) {
  Arrival::await(served_);
}

RpcServer::~RpcServer() noexcept(false) {
  auto* const ending = new Ending(served_);
  grpc_server_shutdown_and_notify(served_->get(), callQueue(), ending->tag());
  grpc_server_cancel_all_calls(served_->get());
}

void RpcServer::serve(kj::AutoCloseFd connection) {
  grpc_server_credentials* const none = grpc_insecure_server_credentials_create();
  grpc_server_add_channel_from_fd(served_->get(), connection.release(), none);
  grpc_server_credentials_release(none);
}

}  // namespace vfiogate
