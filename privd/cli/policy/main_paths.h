#pragma once
// The main paths of the daemon and of the gate, each gone once, under its filter.

#include "privd/cli/policy/scratch_node.h"
#include "seccomp/rule.h"

#include <span>

namespace vfiogate {

/// For a child of its own (watched_child.h), as root: power is given up, the fork server started,
/// `table` loaded, and then each path is gone on the scratch node. Says on stdout ">" with the name
/// of each step as it begins, one a line, and "!" with what went wrong. Returns the exit code.
int goMainPaths(const ScratchNode& node, std::span<const Rule> table);

/// The same of the gate: each of its requests is asked once.
int goGatePaths(const ScratchNode& node, std::span<const Rule> table);

}  // namespace vfiogate
