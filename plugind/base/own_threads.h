#pragma once
// The threads of this process, most of which gRPC makes. It does not notice one that it did not
// get, and what it queued for that one waits for ever: so each thread is had, if not from the
// kernel then from a few that are kept spare (ADR 0016, ADR 0023).

#include <grpcpp/support/status_code_enum.h>

#include <cstddef>

namespace vfiogate {

/// At a time. The stacks count as memory.
inline constexpr std::size_t kMostThreads = 256;
/// One for gRPC's second timer thread, one for its tasks: no more is asked for once it serves.
inline constexpr std::size_t kSpareThreads = 2;

/// True while the kernel or kMostThreads gives no thread and half of the spare ones are in use: who
/// brings new work is to be refused. Asking tries to replace them. From any thread.
bool lacksThreads();

/// Refuses a call of the kubelet's for that. False: there are threads, and nothing was done.
template <typename Call>
bool refusedWithoutThreads(Call& call) {
  if (!lacksThreads()) return false;
  if (call.claim()) {
    call.refuse(grpc::StatusCode::UNAVAILABLE,
                "plugind gets no more threads, its log says why: try again, out-of-threads");
  }
  return true;
}

}  // namespace vfiogate
