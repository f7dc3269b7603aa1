#pragma once
// A server of the privilege line in the test's own loop.

#include "tests/support/played/rpc_server.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>

namespace vfiogate {

class Metered : public testing::Test {
protected:
  // KJ's destructors may throw, GoogleTest's must not.
  ~Metered() noexcept override = default;

  void settle() { io_.waitScope.poll(); }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  RpcServer server_{io_};
};

}  // namespace vfiogate
