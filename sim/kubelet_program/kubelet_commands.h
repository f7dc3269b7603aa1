#pragma once
// What a person may tell a running kubelet-sim, one command a line.
// What happened lately, in words.

#include "sim/kubelet_program/cluster.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace vfiogate::sim {

/// Keeps the last lines. Every method may be called from any thread.
class EventLog {
public:
  /// `also` is told each line as it comes, one at a time.
  explicit EventLog(std::function<void(const std::string&)> also) : also_(std::move(also)) {}

  void add(const std::string& what);
  /// The last `count` lines, each with the time of day.
  std::string last(std::size_t count) const;

private:
  const std::function<void(const std::string&)> also_;
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;
};

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
