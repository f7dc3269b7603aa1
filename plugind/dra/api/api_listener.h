#pragma once
// Where a netd that has an API server to offer comes in.

#include "ipc/schema/dra.capnp.h"

#include <memory>
#include <string>

namespace vfiogate {

class ApiListener {
public:
  /// The DRA driver that plugind is.
  virtual const std::string& driver() const = 0;
  /// `api` is asked until the token is dropped or another one is attached.
  virtual std::shared_ptr<void> attach(schema::ApiServer::Client api, std::string node) = 0;

protected:
  ~ApiListener() = default;
};

}  // namespace vfiogate
