#pragma once
// One reconcile with the kubelet's memory (ledger.md 4): List, a frame sent twice, the checkpoints
// after.

#include "plugind/core/kubelet_memory.h"
#include "plugind/loop/kubelet_reader.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <chrono>
#include <functional>

namespace vfiogate {

/// What a reconcile tells, in this order, on the loop's thread.
struct ReconcileListener {
  /// `asked`: when the List was begun.
  std::function<void(const PodList&, std::chrono::steady_clock::time_point asked)> listRead;
  std::function<void(const CheckpointVersion&)> versionRead;
};

class Reconciliation {
public:
  /// `resend` sends a frame once; false: there is no live stream. Borrows reader and timer.
  Reconciliation(KubeletReader& reader, kj::Timer& timer, ReconcileListener listener,
                 std::function<bool()> resend);
  KJ_DISALLOW_COPY(Reconciliation);

  /// Resolves with true if the reconcile proves something: List answered, and a version was read
  /// after each of two resends. Never fails. Once.
  kj::Promise<bool> run();

  /// The kubelet replaced its checkpoint.
  void checkpointReplaced();

private:
  kj::Promise<bool> resendAndRead(int left);
  kj::Promise<bool> awaitVersion();
  kj::Promise<void> nextReplacement();

  KubeletReader& reader_;
  kj::Timer& timer_;
  ReconcileListener listener_;
  std::function<bool()> resend_;
  std::chrono::sys_time<std::chrono::nanoseconds> resent_;
  std::uint64_t replacements_ = 0;
  std::uint64_t seen_ = 0;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> waiting_;
};

}  // namespace vfiogate
