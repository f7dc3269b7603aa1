#pragma once
// Resolves all waiters.

#include <kj/async.h>

namespace vfiogate {

/// Who stops waiting leaves nothing behind, however often a peer makes us wait anew.
class Broadcast {
public:
  /// Resolves when it rings next.
  kj::Promise<void> next() { return rung_.addBranch(); }

  void ring() {
    auto before = kj::mv(pair_.fulfiller);
    pair_ = kj::newPromiseAndFulfiller<void>();
    rung_ = pair_.promise.fork();
    before->fulfill();
  }

private:
  kj::PromiseFulfillerPair<void> pair_ = kj::newPromiseAndFulfiller<void>();
  kj::ForkedPromise<void> rung_ = pair_.promise.fork();
};

}  // namespace vfiogate
