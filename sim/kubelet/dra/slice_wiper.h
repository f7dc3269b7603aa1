#pragma once
// Who takes ResourceSlices away from the API server, as the kubelet does.

#include <string>

namespace vfiogate::sim {

/// Asked from several threads. False: the API server did not; it is asked again.
class SliceWiper {
public:
  virtual ~SliceWiper() = default;
  /// All of the node's, of every driver.
  virtual bool wipeNode() = 0;
  virtual bool wipeDriver(const std::string& driver) = 0;
};

}  // namespace vfiogate::sim
