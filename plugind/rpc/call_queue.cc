#include "plugind/rpc/call_queue.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <pthread.h>

#include <thread>

namespace vfiogate {
namespace {

void takeForEver(grpc_completion_queue* queue) {
  pthread_setname_np(pthread_self(), "call_queue");
  for (;;) {
    const grpc_event event =
        grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
    if (event.type == GRPC_OP_COMPLETE)
      static_cast<QueueStep*>(event.tag)->taken(event.success != 0);
  }
}

grpc_completion_queue* start() {
  // Never given back: whoever is last to leave gRPC waits for its threads, up to 10 s after a
  // connection was slow to write, and the loop stands still meanwhile.
  runTasksLate();
  grpc_init();
  grpc_completion_queue* const queue = grpc_completion_queue_create_for_next(nullptr);
  std::thread(takeForEver, queue).detach();
  return queue;
}

}  // namespace

grpc_completion_queue* callQueue() {
  static grpc_completion_queue* const queue = start();
  return queue;
}

MessageBytes bytesOf(const google::protobuf::MessageLite& message) {
  grpc_slice slice = grpc_slice_malloc(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  MessageBytes bytes(grpc_raw_byte_buffer_create(&slice, 1));
  grpc_slice_unref(slice);
  return bytes;
}

bool readBytes(grpc_byte_buffer* bytes, google::protobuf::MessageLite& message) {
  if (bytes == nullptr) return false;
  grpc_byte_buffer_reader reader;
  if (grpc_byte_buffer_reader_init(&reader, bytes) == 0) return false;
  const grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
  grpc_byte_buffer_reader_destroy(&reader);
  const bool read = message.ParseFromArray(GRPC_SLICE_START_PTR(slice),
                                           static_cast<int>(GRPC_SLICE_LENGTH(slice)));
  grpc_slice_unref(slice);
  return read;
}

}  // namespace vfiogate
