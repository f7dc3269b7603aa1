#pragma once
// `privd policy --self-test`: whether privd's processes can live under their filters with this
// kernel and these libraries.

#include "cli/self_test/self_test.h"
#include "seccomp/binder_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"

#include <span>

namespace vfiogate {

/// Those of the processes that do anything; the daemon only waits for them.
struct SelfTestTables {
  std::span<const Rule> hardware = kHardwareRules;
  std::span<const Rule> gate = kGateRules;
  std::span<const Rule> binder = kBinderRules;
};

/// Goes the main paths of hardware process, gate and binder, each in a child of its own, which
/// touches nothing but a directory for temporary files. Only tests have other tables.
SelfTest runSelfTest(const SelfTestTables& tables = {});

}  // namespace vfiogate
