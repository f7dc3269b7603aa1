#include "privd/audit/head_teller.h"

#include "privd/base/log_line.h"

#include <cstring>

namespace vfiogate {

void tellHead(const AuditHead& head) {
  logLine(LogEvent::kAuditHead, {{"head", kj::str(head.sequence, ":", head.hash.c_str())}});
}

void tellFailure(const AuditFailure& failure) {
  const bool isErrno = failure.error != 0;
  logLine(LogEvent::kAuditFailed,
          {{"step", kj::str(failure.step.c_str())},
           {"error", kj::str(isErrno ? strerror(failure.error) : "not what it was")}});
}

kj::Promise<void> tellHeads(const AuditLog& log, kj::Timer& timer) {
  tellHead(log.head());
  return timer.afterDelay(60 * kj::SECONDS).then([&log, &timer]() {
    return tellHeads(log, timer);
  });
}

}  // namespace vfiogate
