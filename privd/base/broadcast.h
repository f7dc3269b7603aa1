#pragma once
// Resolves all waiters.

#include <kj/async.h>

namespace vfiogate {

/// A waiter that stops waiting leaves nothing behind, however often a peer waits again.
class Broadcast {
public:
  /// Resolves at the next notify().
  kj::Promise<void> next() { return notified_.addBranch(); }

  void notify() {
    auto before = kj::mv(pair_.fulfiller);
    pair_ = kj::newPromiseAndFulfiller<void>();
    notified_ = pair_.promise.fork();
    before->fulfill();
  }

private:
  kj::PromiseFulfillerPair<void> pair_ = kj::newPromiseAndFulfiller<void>();
  kj::ForkedPromise<void> notified_ = pair_.promise.fork();
};

}  // namespace vfiogate
