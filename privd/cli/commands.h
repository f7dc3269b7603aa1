#pragma once
// privd's commands for people. None of this is part of the daemon.

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds `list`, `show`, `watch`, `policy`, `doctor` and `audit` to the parser. `exitCode` gets what
/// the command that was asked for ends with (0 done, 1 refused or failed).
void addCommands(CLI::App& app, int& exitCode);

void addListCommand(CLI::App& app, int& exitCode);
void addShowCommand(CLI::App& app, int& exitCode);
void addWatchCommand(CLI::App& app, int& exitCode);
void addPolicyCommand(CLI::App& app, int& exitCode);
void addDoctorCommand(CLI::App& app, int& exitCode);
void addAuditCommand(CLI::App& app, int& exitCode);

}  // namespace vfiogate
