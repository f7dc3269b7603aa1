#pragma once
// How the commands that change bindings reach an office: the daemon's, or their own.

#include "privd/cli/binding/local_office.h"

namespace CLI {
class App;
}

namespace vfiogate {

struct DeskOptions {
  std::string socket = "/run/vfiogate/privd/privd.sock";
  std::string proc = "/proc";  ///< where processes are found that hold a device
  LocalOfficeOptions local;
};

/// `--socket`, and what all of them need where no daemon runs.
void addDeskOptions(CLI::App& command, DeskOptions& options);
/// What decides on a change where no daemon runs.
void addChangeOptions(CLI::App& command, DeskOptions& options);

/// The daemon's office where one answers, otherwise one of `makeLocal`. Error: in words.
Result<kj::Own<BindingOffice>, std::string> openOffice(const DeskOptions& options,
                                                       const OfficeMaker& makeLocal,
                                                       kj::AsyncIoContext& io);

/// This process.
AuditPeer thisPeer();

}  // namespace vfiogate
