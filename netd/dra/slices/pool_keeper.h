#pragma once
// Who makes the API server say what the node's pool is.

#include "ipc/api/device_pool.h"

#include <kj/async.h>

namespace vfiogate {

class PoolKeeper {
public:
  /// The node's whole pool from now on. Resolves when it is stored for the first time; a later call
  /// ends the one before with the same answer. Never fails.
  virtual kj::Promise<KeptFields> publish(DevicePool pool) = 0;

protected:
  ~PoolKeeper() = default;
};

}  // namespace vfiogate
