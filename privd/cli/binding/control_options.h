#pragma once
// How the commands that change bindings reach a binding service: the daemon's, or their own.

#include "privd/cli/binding/local_binding_service.h"

namespace CLI {
class App;
}

namespace vfiogate {

struct ControlOptions {
  std::string socket = "/run/vfiogate/privd/privd.sock";
  std::string proc = "/proc";  ///< where processes are found that hold a device
  LocalBindingOptions local;
};

/// `--socket`, and what all of them need where no daemon runs.
void addControlOptions(CLI::App& command, ControlOptions& options);
/// What decides on a change where no daemon runs.
void addChangeOptions(CLI::App& command, ControlOptions& options);

/// The daemon's service where one answers, otherwise one of `makeLocal`. Error: in words.
Result<kj::Own<BindingService>, std::string> openBindingService(
    const ControlOptions& options, const BindingServiceMaker& makeLocal, kj::AsyncIoContext& io);

/// This process.
AuditPeer thisPeer();

}  // namespace vfiogate
