#pragma once
// The main paths of privd's processes, each gone once, under its filter.

#include "privd/cli/policy/scratch_node.h"
#include "seccomp/rule.h"

#include <span>

namespace vfiogate {

/// For a child of its own (watched_child.h), as root: power is given up, `table` loaded, and then
/// each path is gone on the scratch node. Says on stdout ">" with the name of each step as it
/// begins, one a line, and "!" with what went wrong. Returns the exit code.
int goHardwarePaths(const ScratchNode& node, std::span<const Rule> table);

/// The same of the gate: each of its requests is asked once.
int goGatePaths(const ScratchNode& node, std::span<const Rule> table);

/// The same of the binder, with its fork server.
int goBinderPaths(const ScratchNode& node, std::span<const Rule> table);

}  // namespace vfiogate
