#include "privd/cli/commands.h"

#include "privd/cli/binding/commands.h"

#include <CLI/CLI.hpp>

namespace vfiogate {

void addCommands(CLI::App& app, int& exitCode, const ServiceMakers& makers) {
  addListCommand(app, exitCode);
  addShowCommand(app, exitCode);
  addWatchCommand(app, exitCode);
  addTopCommand(app, exitCode);
  addPolicyCommand(app, exitCode);
  addDoctorCommand(app, exitCode);
  addAuditCommand(app, exitCode);
  addChangeCommands(app, exitCode, makers.binding);
  addKeepCommands(app, exitCode, makers.keep);
}

}  // namespace vfiogate
