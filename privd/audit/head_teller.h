#pragma once
// The audit log's head on stderr: the cluster's log store is its anchor outside.

#include "privd/audit/audit_log.h"

#include <kj/timer.h>

namespace vfiogate {

/// Logs `audit_head`.
void tellHead(const AuditHead& head);

/// Logs `audit_failed`.
void tellFailure(const AuditFailure& failure);

/// Tells the head now and every 60 s, for as long as the promise is held. `log` outlives it.
kj::Promise<void> tellHeads(const AuditLog& log, kj::Timer& timer);

}  // namespace vfiogate
