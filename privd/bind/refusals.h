#pragma once
// Refused changes, in the log and the audit log: at most once a second for each who, what and why.
// The loop's time as what is pure counts it.

#include "privd/audit/audit_log.h"
#include "privd/audit/refusal_digest.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <chrono>

namespace vfiogate {

inline std::chrono::steady_clock::time_point steadyTime(const kj::Timer& timer) {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds((timer.now() - kj::origin<kj::TimePoint>()) / kj::NANOSECONDS));
}

class Refusals {
public:
  /// Borrows both; `audit` may be null: there is none.
  Refusals(kj::Timer& timer, AuditLog* audit) : timer_(timer), audit_(audit) {}
  KJ_DISALLOW_COPY(Refusals);

  /// What could not be told at once is told a second later.
  void count(RefusalKind kind);

private:
  void tell();

  kj::Timer& timer_;
  AuditLog* audit_;
  RefusalDigest digest_;
  kj::Promise<void> later_ = nullptr;  // last: it uses all of the above
};

}  // namespace vfiogate
