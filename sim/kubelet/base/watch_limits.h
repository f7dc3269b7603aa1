#pragma once
// How long the kubelet's plugin watcher waits, and how often it polls (kubelet-contract.md 0).

#include <chrono>

namespace vfiogate::sim {

struct WatchLimits {
  using Limit = std::chrono::milliseconds;
  Limit every{1'000};  ///< between two rounds of what is to be done
  Limit dial{10'000};
  Limit info{1'000};
  Limit notify{5'000};
  Limit firstRetry{500};
  Limit longestRetry{122'000};
};

}  // namespace vfiogate::sim
