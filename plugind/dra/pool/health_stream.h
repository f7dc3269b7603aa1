#pragma once
// One NodeWatchResources of the kubelet.

#include "plugind/core/dra/device_health.h"

namespace vfiogate {

class HealthStream {
public:
  /// The whole list; one that is not sent yet is replaced. Also as a heartbeat. Any thread.
  virtual void send(const HealthFrame& frame) = 0;

protected:
  ~HealthStream() = default;
};

}  // namespace vfiogate
