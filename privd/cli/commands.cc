#include "privd/cli/commands.h"

#include "privd/cli/binding/commands.h"

#include <CLI/CLI.hpp>

namespace vfiogate {

void addCommands(CLI::App& app, int& exitCode, const BindingServiceMaker& makeLocal) {
  addListCommand(app, exitCode);
  addShowCommand(app, exitCode);
  addWatchCommand(app, exitCode);
  addTopCommand(app, exitCode);
  addPolicyCommand(app, exitCode);
  addDoctorCommand(app, exitCode);
  addAuditCommand(app, exitCode);
  addChangeCommands(app, exitCode, makeLocal);
  addKeepCommands(app, exitCode, makeLocal);
}

}  // namespace vfiogate
