#include "privd/bind/operators.h"

#include "privd/audit/audit_log.h"

#include <chrono>

namespace vfiogate {
namespace {

std::int64_t secondsNow() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

kj::Promise<ChangeReport> Operators::change(ChangeOrder order, AuditPeer who) {
  return binder_.change({kj::mv(order), ChangeBy::kOperator, kj::mv(who)});
}

Result<Done, std::string> Operators::exclude(const Bdf& address, const std::string& reason,
                                             const AuditPeer& who) {
  // One that is not there can be excluded all the same: it may come back.
  if (const auto put = state_.put(Exclusion{address, reason, secondsNow()}); !put) {
    if (put.error().error == EINVAL) {
      return Failure{std::string("the reason has to be one line of at most 200 bytes")};
    }
    return Failure{put.error().str()};
  }
  note("hold", address, reason, who);
  tellChanged(address);
  return Done{};
}

Result<Done, std::string> Operators::release(const Bdf& address, const AuditPeer& who) {
  if (!state_.isExcluded(address)) return Done{};
  if (const auto dropped = state_.dropExclusion(address); !dropped) {
    return Failure{dropped.error().str()};
  }
  note("release", address, {}, who);
  tellChanged(address);
  return Done{};
}

Result<Done, std::string> Operators::forget(const Bdf& address, const AuditPeer& who) {
  if (const auto dropped = state_.dropDeclared(address); !dropped) {
    return Failure{dropped.error().str()};
  }
  note("forget", address, {}, who);
  return Done{};
}

/// After the fact: what writes nothing into sysfs does not wait for the log.
void Operators::note(const char* operation, const Bdf& address, std::string text,
                     const AuditPeer& who) {
  if (audit_ == nullptr) return;
  const auto noted = audit_->append(AuditNote{who, operation, {address}, std::move(text)});
  if (!noted) tellFailure(noted.error());
}

void Operators::tellChanged(const Bdf& address) {
  if (const auto groups = binder_.groupsOf({address})) changed_(*groups);
}

}  // namespace vfiogate
