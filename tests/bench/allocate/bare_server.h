#pragma once
// The least that a gRPC server on a Unix socket costs: nothing stands behind it.

#include "tests/bench/allocate/bench_node.h"

#include <string>

namespace vfiogate::bench {

/// The process of its own that `BareServer` talks to. As in plugind a call comes in on gRPC's
/// threads, is handed to one other thread, and is answered from there. It ends with its parent.
int serveBare(const std::string& socket);

/// Starts it, from this same program, and calls it.
class BareServer {
public:
  /// `program`: this one.
  explicit BareServer(const std::string& program);

  Took callEmpty();
  /// By way of two processes more, as plugind's Allocate goes by privd-gate and privd-hardware:
  /// each is sent a packet and sends it back.
  Took callRelayed();

private:
  TempDir dir_;
  test::ChildProcess server_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

}  // namespace vfiogate::bench
