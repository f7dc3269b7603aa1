#pragma once
// Somebody who asks for what there is not, as fast as it is refused.

#include "tests/bench/plugin_client.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::bench {

/// From several connections of its own, each with one call in flight, until it ends.
class RefusedCalls {
public:
  RefusedCalls(const std::string& socket, unsigned connections);
  ~RefusedCalls();
  RefusedCalls(const RefusedCalls&) = delete;
  RefusedCalls& operator=(const RefusedCalls&) = delete;

  /// Since the beginning.
  double perSecond() const;

private:
  void ask(PluginClient& client);

  const Clock::time_point began_ = Clock::now();
  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> refused_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace vfiogate::bench
