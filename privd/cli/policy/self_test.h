#pragma once
// `privd policy --self-test`: whether privd's processes can live under their filters with this
// kernel and these libraries.

#include "seccomp/binder_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace vfiogate {

struct SelfTest {
  std::vector<std::string> steps;  ///< those that were begun; where it failed: the last one
  std::string log;                 ///< what privd logged meanwhile
  std::string failure;             ///< for people; empty: all paths were gone to their end
  std::string killedCall;  ///< the first call that a filter killed for; empty: none, or unknown
  long killedNumber = -1;  ///< its number; -1: none
};

/// Those of the processes that do anything; the daemon only waits for them.
struct SelfTestTables {
  std::span<const Rule> hardware = kHardwareRules;
  std::span<const Rule> gate = kGateRules;
  std::span<const Rule> binder = kBinderRules;
};

/// Goes the main paths of hardware process, gate and binder, each in a child of its own, which
/// touches nothing but a directory for temporary files. Only tests have other tables.
SelfTest runSelfTest(const SelfTestTables& tables = {});

/// "text", "json" or "yaml".
std::string selfTestAs(const std::string& form, const SelfTest& test);

}  // namespace vfiogate
