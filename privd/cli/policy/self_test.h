#pragma once
// `privd policy --self-test`: whether the daemon can live under its filters with this kernel and
// these libraries.

#include "seccomp/gate_rules.h"
#include "seccomp/privd_rules.h"

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

/// Those of the daemon and of the gate that it starts.
struct SelfTestTables {
  std::span<const Rule> daemon = kPrivdRules;
  std::span<const Rule> gate = kGateRules;
};

/// Goes the main paths of the daemon and then of the gate, each in a child of its own, which
/// touches nothing but a directory for temporary files. Only tests have other tables.
SelfTest runSelfTest(const SelfTestTables& tables = {});

/// "text", "json" or "yaml".
std::string selfTestAs(const std::string& form, const SelfTest& test);

}  // namespace vfiogate
