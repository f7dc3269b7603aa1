#pragma once
// One simulated node, running: files, events and commands around one simulated kernel.

#include <memory>
#include <optional>
#include <string>

#include "ipc/base/result.h"
#include "sim/sysfs/control/control_server.h"
#include "sim/sysfs/fuse/fuse_server.h"
#include "sim/sysfs/uevent_delivery.h"
#include "sim/sysfs/uevent_injector.h"

namespace vfiogate::sim {

struct NodeOptions {
  std::string directory;  ///< gets "sys" and "dev"
  std::string control;    ///< path of the command socket
  std::optional<UeventInjector> injector;
  UeventDelivery delivery = {};
  bool openNodes = false;  ///< device nodes can be opened
};

class SimulatedNode {
public:
  /// Fails with the reason, for people.
  static Result<std::unique_ptr<SimulatedNode>, std::string> start(const Topology& topology,
                                                                   NodeOptions options);

  /// Serves until `stopFd` (borrowed) is readable or the file system is unmounted.
  void run(int stopFd);

private:
  explicit SimulatedNode(const Topology& topology) : kernel_(topology) {}

  /// Tells everybody what the last operation led to: events first, as the kernel does.
  void settle();
  /// For poll(): until an event that is held back goes out.
  int patience() const;

  SimKernel kernel_;
  Switches switches_;
  UeventDelivery delivery_;
  std::optional<UeventInjector> injector_;
  std::optional<ControlServer> control_;
  std::unique_ptr<FuseServer> files_;
};

}  // namespace vfiogate::sim
