#pragma once
// One call of gRPC's at a server of ours, from its arrival to its end.

#include "plugind/rpc/call_queue.h"
#include "plugind/rpc/served_call.h"

#include <kj/common.h>

#include <memory>
#include <mutex>
#include <vector>

namespace vfiogate {

/// Lives for as long as gRPC is at it, and then as long as it is held.
class ServerCall final : public Responder, public std::enable_shared_from_this<ServerCall> {
public:
  /// Takes `call`. On the queue's thread. Null: the server has no such method.
  static void open(grpc_call* call, std::shared_ptr<const Method> method);

  explicit ServerCall(grpc_call* call) : call_(call) {}
  ~ServerCall() override { grpc_call_unref(call_); }
  KJ_DISALLOW_COPY(ServerCall);

  void write(const google::protobuf::MessageLite& message) override;
  void finish(const google::protobuf::MessageLite& answer) override;
  void finish(const grpc::Status& status) override;

private:
  /// Keeps the call while gRPC is at it.
  class Step final : public QueueStep {
  public:
    using Then = void (ServerCall::*)(bool done);
    explicit Step(Then then) : then_(then) {}
    /// Until over().
    void keep(std::shared_ptr<ServerCall> call) { call_ = std::move(call); }
    void over(bool done) override {
      const std::shared_ptr<ServerCall> call = std::move(call_);
      (call.get()->*then_)(done);
    }

  private:
    const Then then_;
    std::shared_ptr<ServerCall> call_;
  };

  void start(const std::vector<grpc_op>& operations, Step& step);
  /// True: the caller sends now, and nobody else until that is over. It sends without the lock,
  /// which the queue's thread wants as soon as it is sent.
  [[nodiscard]] bool takeTurn(bool last);
  /// What goes before the first message or the status.
  std::vector<grpc_op> beginning();
  void finish(const google::protobuf::MessageLite* answer, const grpc::Status& status);

  void read(bool done);
  void wrote(bool done);
  void finished(bool done);
  void closed(bool done);
  void sent();
  void endIfOver();

  grpc_call* const call_;
  std::shared_ptr<const Method> method_;
  grpc_byte_buffer* incoming_ = nullptr;
  int cancelled_ = 0;                       ///< gRPC's, until closed()
  std::shared_ptr<CallObserver> observer_;  ///< the queue's thread only
  Step reading_{&ServerCall::read};
  Step writing_{&ServerCall::wrote};
  Step finishing_{&ServerCall::finished};
  Step closing_{&ServerCall::closed};

  MessageBytes outgoing_;  ///< of whose turn it is
  bool begun_ = false;     ///< the same
  std::mutex mutex_;
  bool sending_ = false;
  bool finished_ = false;
  bool closed_ = false;
};

}  // namespace vfiogate
