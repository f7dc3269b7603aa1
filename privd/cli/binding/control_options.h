#pragma once
// The options of the commands that change bindings.

#include "privd/cli/binding/local_binding_service.h"

namespace CLI {
class App;
}

namespace vfiogate {

struct ControlOptions {
  std::string proc = "/proc";  ///< where processes are found that hold a device
  LocalBindingOptions local;
};

/// What all of them need.
void addControlOptions(CLI::App& command, ControlOptions& options);
/// What decides on a change.
void addChangeOptions(CLI::App& command, ControlOptions& options);

/// This process.
AuditPeer thisPeer();

}  // namespace vfiogate
