#include "plugind/rpc/client_call.h"

#include "plugind/rpc/call_queue.h"

#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <kj/debug.h>

#include <array>
#include <string>
#include <utility>

namespace vfiogate {
namespace {

using Fulfiller = kj::Own<kj::CrossThreadPromiseFulfiller<grpc::Status>>;

grpc_channel* channelOver(kj::AutoCloseFd connection, int longestAnswer) {
  std::array<grpc_arg, 2> arguments{};
  // What a Go client sends for a unix socket; gRPC's own would be "test.authority".
  arguments[0].type = GRPC_ARG_STRING;
  arguments[0].key = const_cast<char*>(GRPC_ARG_DEFAULT_AUTHORITY);
  arguments[0].value.string = const_cast<char*>("localhost");
  arguments[1].type = GRPC_ARG_INTEGER;
  arguments[1].key = const_cast<char*>(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH);
  arguments[1].value.integer = longestAnswer;
  const grpc_channel_args all{arguments.size(), arguments.data()};
  grpc_channel_credentials* const none = grpc_insecure_credentials_create();
  grpc_channel* const channel =
      grpc_channel_create_from_fd("kubelet", connection.release(), none, &all);
  grpc_channel_credentials_release(none);
  return channel;
}

/// Kept by gRPC until it is over, and by whoever may still cancel it.
class ClientCall final : public QueueStep {
public:
  ClientCall(kj::AutoCloseFd connection, const CallToMake& made)
      : answer_(made.answer),
        request_(bytesOf(made.request)),
        channel_(channelOver(kj::mv(connection), made.longestAnswer)) {
    grpc_metadata_array_init(&initial_);
    grpc_metadata_array_init(&trailing_);
    const gpr_timespec wait = gpr_time_from_seconds(made.deadline.count(), GPR_TIMESPAN);
    call_ = grpc_channel_create_call(channel_, nullptr, GRPC_PROPAGATE_DEFAULTS, queue_,
                                     grpc_slice_from_static_string(made.path), nullptr,
                                     gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait), nullptr);
  }
  ~ClientCall() {
    grpc_call_unref(call_);
    grpc_channel_destroy(channel_);
    grpc_metadata_array_destroy(&initial_);
    grpc_metadata_array_destroy(&trailing_);
    grpc_slice_unref(details_);
  }
  KJ_DISALLOW_COPY(ClientCall);

  static void start(const std::shared_ptr<ClientCall>& call, Fulfiller ended) {
    call->ended_ = kj::mv(ended);
    call->self_ = call;
    call->begin();
  }
  void cancel() { grpc_call_cancel(call_, nullptr); }

  void over(bool /*done*/) override {
    const std::shared_ptr<ClientCall> self = std::move(self_);
    ended_->fulfill(outcome());
  }

private:
  void begin() {
    std::array<grpc_op, 6> all{};
    all[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    all[1].op = GRPC_OP_SEND_MESSAGE;
    all[1].data.send_message.send_message = request_.get();
    all[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    all[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    all[3].data.recv_initial_metadata.recv_initial_metadata = &initial_;
    all[4].op = GRPC_OP_RECV_MESSAGE;
    all[4].data.recv_message.recv_message = &incoming_;
    all[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    all[5].data.recv_status_on_client.trailing_metadata = &trailing_;
    all[5].data.recv_status_on_client.status = &status_;
    all[5].data.recv_status_on_client.status_details = &details_;
    const auto refused = grpc_call_start_batch(call_, all.data(), all.size(), tag(), nullptr);
    KJ_ASSERT(refused == GRPC_CALL_OK, "a call of gRPC's was used wrongly", refused);
  }

  grpc::Status outcome() {
    const MessageBytes bytes(std::exchange(incoming_, nullptr));
    if (status_ != GRPC_STATUS_OK) {
      return {static_cast<grpc::StatusCode>(status_),
              std::string(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(details_)),
                          GRPC_SLICE_LENGTH(details_))};
    }
    if (readBytes(bytes.get(), *answer_)) return {};
    return {grpc::StatusCode::INTERNAL, "the answer is none of this method's"};
  }

  grpc_completion_queue* const queue_ = callQueue();
  const std::shared_ptr<google::protobuf::MessageLite> answer_;
  const MessageBytes request_;
  grpc_channel* const channel_;
  grpc_call* call_ = nullptr;
  grpc_metadata_array initial_;
  grpc_metadata_array trailing_;
  grpc_byte_buffer* incoming_ = nullptr;
  grpc_status_code status_ = GRPC_STATUS_UNKNOWN;
  grpc_slice details_ = grpc_empty_slice();
  Fulfiller ended_;
  std::shared_ptr<ClientCall> self_;  ///< until gRPC is done
};

}  // namespace

kj::Promise<grpc::Status> callOver(kj::AutoCloseFd connection, const CallToMake& call) {
  auto pair = kj::newPromiseAndCrossThreadFulfiller<grpc::Status>();
  const auto made = std::make_shared<ClientCall>(kj::mv(connection), call);
  ClientCall::start(made, kj::mv(pair.fulfiller));
  return pair.promise.attach(kj::defer([made]() { made->cancel(); }));
}

}  // namespace vfiogate
