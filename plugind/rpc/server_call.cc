#include "plugind/rpc/server_call.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {

void ServerCall::open(grpc_call* call, std::shared_ptr<const Method> method) {
  const auto opened = std::make_shared<ServerCall>(call);
  grpc_op close = {};
  close.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  close.data.recv_close_on_server.cancelled = &opened->cancelled_;
  opened->start({close}, opened->closing_);
  if (method == nullptr) return opened->finish({grpc::StatusCode::UNIMPLEMENTED, ""});
  opened->method_ = std::move(method);
  grpc_op read = {};
  read.op = GRPC_OP_RECV_MESSAGE;
  read.data.recv_message.recv_message = &opened->incoming_;
  opened->start({read}, opened->reading_);
}

void ServerCall::start(const std::vector<grpc_op>& operations, Step& step) {
  step.keep(shared_from_this());
  const auto refused =
      grpc_call_start_batch(call_, operations.data(), operations.size(), step.tag(), nullptr);
  KJ_ASSERT(refused == GRPC_CALL_OK, "a call of gRPC's was used wrongly", refused);
}

void ServerCall::read(bool /*done*/) {
  const MessageBytes bytes(std::exchange(incoming_, nullptr));
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
  }
  const auto request = method_->request();
  if (!readBytes(bytes.get(), *request)) {
    return finish({grpc::StatusCode::INTERNAL, "the request is none of this method's"});
  }
  observer_ = method_->open(shared_from_this(), *request);
}

bool ServerCall::takeTurn(bool last) {
  const std::lock_guard lock(mutex_);
  if (closed_ || finished_) return false;
  finished_ = last;
  sending_ = true;
  return true;
}

std::vector<grpc_op> ServerCall::beginning() {
  if (std::exchange(begun_, true)) return {};
  grpc_op begin = {};
  begin.op = GRPC_OP_SEND_INITIAL_METADATA;
  return {begin};
}

void ServerCall::write(const google::protobuf::MessageLite& message) {
  if (!takeTurn(false)) return;
  outgoing_ = bytesOf(message);
  auto operations = beginning();
  grpc_op& send = operations.emplace_back();
  send.op = GRPC_OP_SEND_MESSAGE;
  send.data.send_message.send_message = outgoing_.get();
  start(operations, writing_);
}

void ServerCall::finish(const google::protobuf::MessageLite& answer) {
  finish(&answer, grpc::Status());
}

void ServerCall::finish(const grpc::Status& status) {
  finish(nullptr, status);
}

void ServerCall::finish(const google::protobuf::MessageLite* answer, const grpc::Status& status) {
  if (!takeTurn(true)) return;
  auto operations = beginning();
  if (answer != nullptr) {
    outgoing_ = bytesOf(*answer);
    grpc_op& send = operations.emplace_back();
    send.op = GRPC_OP_SEND_MESSAGE;
    send.data.send_message.send_message = outgoing_.get();
  }
  const std::string text = status.error_message();
  grpc_slice details = grpc_slice_from_copied_buffer(text.data(), text.size());
  grpc_op& end = operations.emplace_back();
  end.op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  end.data.send_status_from_server.status = static_cast<grpc_status_code>(status.error_code());
  if (!text.empty()) end.data.send_status_from_server.status_details = &details;
  start(operations, finishing_);
  grpc_slice_unref(details);
}

void ServerCall::wrote(bool done) {
  sent();
  if (observer_) observer_->written(done);
  endIfOver();
}

void ServerCall::finished(bool /*done*/) {
  sent();
  endIfOver();
}

void ServerCall::sent() {
  outgoing_ = nullptr;
  const std::lock_guard lock(mutex_);
  sending_ = false;
}

void ServerCall::closed(bool /*done*/) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (cancelled_ != 0 && observer_) observer_->hungUp();
  endIfOver();
}

void ServerCall::endIfOver() {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ || sending_) return;
  }
  if (const auto observer = std::move(observer_)) observer->over();
}

}  // namespace vfiogate
