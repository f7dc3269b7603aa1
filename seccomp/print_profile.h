#pragma once
// A program's table as a seccomp profile for the container's runtime: the second fence, around the
// program's own filter.

#include "seccomp/rule.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// A further process of a program's, which stays and has a table of its own.
struct ProcessPolicy {
  std::string_view key;  ///< in JSON: how the process comes to be, "forked" or "started"
  std::string_view process;
  std::span<const Rule> table;
};

/// A program, the table that it loads, and what it does before that no other program does; and the
/// processes that it makes first of all.
struct Policy {
  std::string_view process;
  std::span<const Rule> table;
  std::span<const Rule> startup;
  std::vector<ProcessPolicy> others = {};
};

/// What the program's container may do: the runtime's last steps, the program's start, its tables.
/// Each row has one call. A row for any arguments stands alone for its call; an errno stands only
/// where nothing is allowed.
std::vector<Rule> profileRows(const Policy& policy);

/// These rows as JSON in the form of the OCI runtime specification's linux.seccomp, which
/// containerd and CRI-O take for the kubelet's `Localhost` profiles. For the architecture alone
/// that the program was built for. What no row allows gets EPERM, as under RuntimeDefault, so that
/// a call which is missing here is an error that somebody reports; the program's own filter kills.
/// A test for the process's own pid is left out: the runtime does not know it. "comment" is the
/// row's reason, which runtimes skip.
std::string profileAsOci(std::span<const Rule> rows);

}  // namespace vfiogate
