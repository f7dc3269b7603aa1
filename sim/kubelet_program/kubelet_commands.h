#pragma once
// What a person may tell a running kubelet-sim, one command a line.

#include "sim/kubelet_program/cluster.h"
#include "sim/kubelet_program/event_log.h"

#include <string>

namespace vfiogate::sim {

struct Desktop {
  Cluster& cluster;
  const EventLog& events;
};

/// Carries out `line` and answers in lines: beginning with "usage: " if it was not understood, with
/// "error: " in some line if it could not be done.
std::string executeKubelet(Desktop& desktop, const std::string& line);

/// The commands, one a line.
std::string kubeletCommandHelp();

/// The pods of a file, scheduled: what became of it, or "error: FILE:LINE: ...".
std::string scheduleFile(Cluster& cluster, const std::string& path);

}  // namespace vfiogate::sim
