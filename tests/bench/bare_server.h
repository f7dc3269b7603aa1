#pragma once
// The least that a gRPC server on a Unix socket costs: nothing stands behind it.

#include "tests/bench/plugin_client.h"

#include <sys/types.h>

#include <memory>
#include <string>

namespace vfiogate::bench {

/// Whether callRelayed() has somebody to go by.
enum class Behind { kNobody, kTwoProcesses };

/// The process of its own that `BareServer` talks to. As in plugind a call comes in on gRPC's
/// threads, is handed to one other thread, and is answered from there. It ends with its parent.
int serveBare(const std::string& socket, Behind behind);

/// Starts it, from this same program, and calls it.
class BareServer {
public:
  /// `program`: this one.
  explicit BareServer(const std::string& program);

  Took callEmpty();
  /// By way of two processes more, as plugind's Allocate goes by privd-gate and privd-hardware:
  /// each is sent a packet and sends it back.
  Took callRelayed();

  pid_t process() const { return server_.pid(); }

private:
  TempDir dir_;
  test::ChildProcess server_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

}  // namespace vfiogate::bench
