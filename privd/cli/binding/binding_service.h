#pragma once
// Who changes bindings, and what is kept of them, for an operator.

#include "ipc/base/result.h"
#include "ipc/types/binding_change.h"
#include "privd/audit/audit_log.h"
#include "privd/bind/plan/guards.h"
#include "privd/state/state_directory.h"

#include <kj/async.h>

#include <string>
#include <vector>

namespace vfiogate {

/// What outlives restarts. Errors are in words, for the operator.
class KeepService {
public:
  virtual ~KeepService() noexcept(false) = default;

  /// Excludes a device from allocation; survives reboots. Replaces an older reason.
  virtual Result<Done, std::string> exclude(const UnitId& device, const std::string& reason,
                                            const AuditPeer& who) = 0;
  /// Repeatable.
  virtual Result<Done, std::string> release(const UnitId& device, const AuditPeer& who) = 0;
  /// The end of what `bind --keep` declared. What is bound stays bound. Repeatable.
  virtual Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) = 0;

  /// What hold keeps out of offer, by device.
  virtual Result<std::vector<Exclusion>, std::string> exclusions() = 0;
  /// What bind --keep declared, by address.
  virtual Result<std::vector<DeviceIdentity>, std::string> declared() = 0;
};

class BindingService {
public:
  virtual ~BindingService() noexcept(false) = default;

  /// `by` decides what limits apply. What went wrong is in the report. Goes on where the promise is
  /// dropped: a change is not left half made because nobody waits for it.
  virtual kj::Promise<ChangeReport> change(ChangeOrder order, ChangeBy by, AuditPeer who) = 0;

  /// What bind --keep declared, by address. Error: in words, for the operator.
  virtual Result<std::vector<DeviceIdentity>, std::string> declared() = 0;
};

}  // namespace vfiogate
