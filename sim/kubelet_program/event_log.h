#pragma once
// What happened lately, in words.

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

}  // namespace vfiogate::sim
