#pragma once
// What binding needs, opened while that is still allowed.

#include "privd/audit/audit_log.h"
#include "privd/bind/plan/driver_choice.h"
#include "privd/bind/plan/guards.h"
#include "privd/bind/read_facts.h"
#include "privd/options/binding_options.h"
#include "privd/state/state_directory.h"

#include <kj/common.h>

namespace vfiogate {

struct BindingDeps {
  StateDirectory state;
  /// Null: it cannot be written here, as on a read-only root; `auditTrouble` says why. Nothing is
  /// written into sysfs then, and everything else works.
  kj::Maybe<AuditLog> audit;
  std::string auditTrouble;
  std::vector<VfioAlias> aliases;
  std::string bootId;
};

/// Error in words: a state directory that cannot be opened, or something that is no log in the
/// audit log's place.
Result<BindingDeps, std::string> openBindingParts(const std::string& stateDir,
                                                  const BindingOptions& options,
                                                  AuditSettings settings = {});

GuardSettings guardSettingsOf(const BindingOptions& options);
HostFiles hostFilesOf(const BindingOptions& options);

}  // namespace vfiogate
