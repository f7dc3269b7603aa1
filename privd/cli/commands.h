#pragma once
// privd's commands for people. None of this is part of the daemon.

#include "privd/cli/binding/local_binding_service.h"

namespace CLI {
class App;
}

namespace vfiogate {

/// Adds all of them to the parser. `exitCode` gets what the command that was asked for ends with (0
/// done, 1 refused or failed, 3 something was left changed). `makers` make what carries out the
/// commands that change bindings and what is kept of them.
void addCommands(CLI::App& app, int& exitCode, const ServiceMakers& makers);

void addListCommand(CLI::App& app, int& exitCode);
void addShowCommand(CLI::App& app, int& exitCode);
void addWatchCommand(CLI::App& app, int& exitCode);
void addPolicyCommand(CLI::App& app, int& exitCode);
void addDoctorCommand(CLI::App& app, int& exitCode);
void addAuditCommand(CLI::App& app, int& exitCode);

/// `privd serve`: becomes the daemon, a program of its own, `privd-daemon` beside this one, with
/// these arguments (up to a null). Returns only where that failed: the exit code, after a line on
/// stderr.
int runDaemon(char* const* arguments);

/// `privd top`: lives until its user ends it.
void addTopCommand(CLI::App& app, int& exitCode);

}  // namespace vfiogate
