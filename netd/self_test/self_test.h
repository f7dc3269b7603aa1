#pragma once
// `netd policy ROLE --self-test`: whether a role of netd's can live under its filter with this
// kernel and these libraries.

#include "cli/self_test/self_test.h"
#include "netd/roles/command_line.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"

#include <span>

namespace vfiogate {

struct NetdTables {
  std::span<const Rule> metrics = kNetdMetricsRules;
  std::span<const Rule> dra = kNetdDraRules;
};

/// Serves the role `line.policyRole`, each of them where that is empty, in a child, as netd does,
/// and goes its main paths with the plugind, the visitor and the API server that it plays itself,
/// on 127.0.0.1. As root the child becomes `line.user`; as anybody else it stays who it is. Only
/// tests have other tables. The process must have one thread and no children.
SelfTest runSelfTest(const NetdLine& line, const NetdTables& tables = {});

}  // namespace vfiogate
