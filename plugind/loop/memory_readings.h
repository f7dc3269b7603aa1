#pragma once
// When the kubelet's memory is read: in reconciles, and outside of them.

#include "plugind/core/kubelet_memory.h"
#include "plugind/loop/kubelet_reader.h"
#include "plugind/loop/reconciliation.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <chrono>
#include <functional>
#include <optional>

namespace vfiogate {

/// What was read, on the loop's thread.
struct MemoryListener {
  /// `asked`: when the List was begun.
  std::function<void(const PodList&, std::chrono::steady_clock::time_point asked)> listRead;
  /// `asked`: when it was begun to be read; absent in a reconcile, which says of each when it was
  /// written.
  std::function<void(const CheckpointVersion&, bool inReconcile,
                     std::optional<std::chrono::steady_clock::time_point> asked)>
      versionRead;
  std::function<void(bool proved)> reconcileEnded;
};

/// What cannot be read is told by nothing, but on the log. The loop's thread only.
class MemoryReadings final : private kj::TaskSet::ErrorHandler {
public:
  /// `resend` is the reconcile's. Borrows source and timer.
  MemoryReadings(KubeletMemorySource& source, kj::Timer& timer, MemoryListener listener,
                 std::function<bool()> resend);
  KJ_DISALLOW_COPY(MemoryReadings);

  KubeletReader& reader() { return reader_; }

  /// Once what runs now is done: it may be the end of the reconcile before.
  void beginReconcile();
  void askList();

  /// The kubelet replaced its checkpoint, which a reconcile waits for.
  void checkpointReplaced();
  /// Outside reconciles; once more where it was asked for again meanwhile.
  void readVersion();
  /// What a kubelet's memory begins with: whatever else is being read, before anything that the
  /// caller asks of the source next, such as the kubelet's socket to register at.
  void readBeginning();

private:
  void startReconcile();
  kj::Promise<void> read();
  void taskFailed(kj::Exception&& exception) override;

  KubeletReader reader_;
  kj::Timer& timer_;
  const MemoryListener listener_;
  const std::function<bool()> resend_;
  kj::Own<Reconciliation> reconciliation_;
  bool reading_ = false;  ///< a checkpoint, outside reconciles
  bool unread_ = false;   ///< it was replaced meanwhile
  kj::Promise<void> reconciling_ = nullptr;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
