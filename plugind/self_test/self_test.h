#pragma once
// `plugind policy --self-test`: whether plugind can live under its filter with this kernel and
// these libraries.

#include "cli/self_test/self_test.h"
#include "plugind/cli/command_line.h"
#include "seccomp/plugind_rules.h"

#include <span>

namespace vfiogate {

/// Serves in a child, as plugind does, and goes its main paths with a privd and a kubelet that it
/// plays itself. As root the child becomes `line.user`; as anybody else it stays who it is. Touches
/// nothing but a directory for temporary files. Only tests have another table. The process must
/// have one thread and no children, and not have used gRPC.
SelfTest runSelfTest(const CommandLine& line, std::span<const Rule> table = kPlugindRules);

}  // namespace vfiogate
