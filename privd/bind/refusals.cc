#include "privd/bind/refusals.h"

#include "privd/audit/audit_log.h"
#include "privd/base/log_line.h"

namespace vfiogate {

void Refusals::count(RefusalKind kind) {
  digest_.count(std::move(kind), steadyTime(timer_));
  tell();
  later_ = timer_.afterDelay(1 * kj::SECONDS).then([this]() { tell(); }).eagerlyEvaluate(nullptr);
}

void Refusals::tell() {
  for (const RefusalDigest::Told& told : digest_.due(steadyTime(timer_))) {
    const std::string group = told.kind.group ? std::to_string(*told.kind.group) : "none";
    logLine(LogEvent::kChangeRefused, {{"peer", kj::str(told.kind.peer.c_str())},
                                       {"group", kj::str(group.c_str())},
                                       {"reason", kj::str(told.kind.reason.c_str())},
                                       {"count", kj::str(told.count)}});
    if (audit_ == nullptr) continue;
    const auto noted =
        audit_->append(AuditNote{{.role = "privd"},
                                 "refusals",
                                 {},
                                 std::to_string(told.count) + " for " + told.kind.peer +
                                     ", group " + group + ": " + told.kind.reason});
    if (!noted) tellFailure(noted.error());
  }
}

}  // namespace vfiogate
