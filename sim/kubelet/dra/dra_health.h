#pragma once
// What DRA drivers say of their devices' health, and the kubelet's file of it (5.6).

#include "sim/kubelet/dra/dra_options.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace v1alpha1 {
class NodeWatchResourcesResponse;
}

namespace vfiogate::sim {

struct SeenHealth {
  std::string health = "Unknown";  ///< or "Healthy", "Unhealthy"
  std::string message = {};

  friend bool operator==(const SeenHealth&, const SeenHealth&) = default;
};

/// Every method may be called from any thread.
class DraHealth {
public:
  /// Pool and device.
  using Device = std::pair<std::string, std::string>;

  /// Begins with what is in the file at `path`, if anything.
  DraHealth(std::string path, const DraTimes& times);

  /// Whose health, message or timeout is another one now. Those that the frame does not name stay
  /// until their time is over.
  std::vector<Device> take(const std::string& driver,
                           const v1alpha1::NodeWatchResourcesResponse& frame);
  /// A stream of the driver's has ended, be it that of another instance.
  void forget(const std::string& driver);
  /// Unknown also if nothing was heard of it for too long.
  SeenHealth of(const std::string& driver, const Device& device);

private:
  using Clock = std::chrono::system_clock;  // the file has it
  struct Entry {
    SeenHealth seen;
    Clock::time_point updated;
    std::chrono::nanoseconds timeout{0};
  };

  void read();
  void write() const;

  const std::string path_;
  const DraTimes times_;
  std::mutex mutex_;
  std::map<std::string, std::map<Device, Entry>> drivers_;
};

}  // namespace vfiogate::sim
