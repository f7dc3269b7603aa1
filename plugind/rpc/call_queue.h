#pragma once
// gRPC as plugind uses it: one completion queue, the one thread that takes from it, and messages as
// it carries them.

#include <google/protobuf/message_lite.h>
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include <kj/debug.h>

#include <atomic>
#include <memory>

namespace vfiogate {

/// Something that was begun on the queue.
class QueueStep {
public:
  /// On the queue's thread, once. False: it came to nothing.
  virtual void over(bool done) = 0;

  /// What gRPC hands back: to be had when all that over() reads is written.
  void* tag() {
    begun_.store(true, std::memory_order_release);
    return this;
  }
  /// What came back.
  void taken(bool done) {
    KJ_ASSERT(begun_.load(std::memory_order_acquire));
    over(done);
  }

protected:
  ~QueueStep() = default;

private:
  std::atomic<bool> begun_ = false;  ///< orders the threads by itself, whatever gRPC does
};

/// The queue of the whole process, from its first use to its end. Its thread never waits for the
/// loop's. Each thing begun on it has a QueueStep's tag(). To be had before anything else of
/// gRPC's.
grpc_completion_queue* callQueue();

/// gRPC 1.51 keeps two threads and a timer's for tasks that our calls never have: connections are
/// there, names are not resolved. From now on there is one thread for them, made with the first
/// task. Before gRPC's first object. With a later gRPC it does nothing.
void runTasksLate();

struct BufferEnd {
  void operator()(grpc_byte_buffer* buffer) const { grpc_byte_buffer_destroy(buffer); }
};
using MessageBytes = std::unique_ptr<grpc_byte_buffer, BufferEnd>;

/// As they go over the connection.
MessageBytes bytesOf(const google::protobuf::MessageLite& message);

/// False: these are not the bytes of such a message. Null is none, either.
[[nodiscard]] bool readBytes(grpc_byte_buffer* bytes, google::protobuf::MessageLite& message);

}  // namespace vfiogate
