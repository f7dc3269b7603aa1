#pragma once
// What must be the same at the end of a tour as at its beginning: processes and streams.

#include "sim/node/tour.h"

#include <string>

namespace vfiogate::sim {

/// Of both daemons: the pid and when it began, or what became of it.
std::string processesOf(Node& node);

/// Seen: each resource registered once, and its one stream goes on. Broken: the kubelet hangs up.
Seen sameStreams(Node& node, bool broken, const std::string& hangUpOn);

/// Seen: the processes are still `before`. Broken: privd is restarted.
Seen sameProcesses(Node& node, bool broken, const std::string& before);

}  // namespace vfiogate::sim
