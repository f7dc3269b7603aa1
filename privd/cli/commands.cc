#include "privd/cli/commands.h"

#include <CLI/CLI.hpp>

namespace vfiogate {

void addCommands(CLI::App& app, int& exitCode) {
  addListCommand(app, exitCode);
  addShowCommand(app, exitCode);
  addWatchCommand(app, exitCode);
  addPolicyCommand(app, exitCode);
  addDoctorCommand(app, exitCode);
  addAuditCommand(app, exitCode);
  for (const char* name : {"bind", "unbind", "forget", "hold", "release", "holds"}) {
    CLI::App* later = app.add_subcommand(name)->group("")->allow_extras();
    later->callback([name]() { throw CLI::ValidationError(name, "not in this version"); });
  }
}

}  // namespace vfiogate
