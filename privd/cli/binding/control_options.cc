#include "privd/cli/binding/control_options.h"

#include "privd/cli/base/table_options.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

namespace vfiogate {

void addControlOptions(CLI::App& command, ControlOptions& options) {
  // Later ones win, so that the command line can correct an options file before it.
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command
      .add_option("--state-dir", options.local.stateDir, "the directory of what survives restarts")
      ->capture_default_str();
  command.add_option("--sysfs", options.local.sysfs, "the root below which sysfs is found")
      ->capture_default_str();
  command
      .add_option("--dev", options.local.dev, "the root below which device nodes are looked for")
      ->capture_default_str();
  addOptions(command, {recordOption(options.local.recordDir), auditOption(options.local.binding)});
  command
      .add_option("--options",
                  "file with more options, such as the daemon's: one a line, without the dashes; "
                  "options of `privd serve` that mean nothing here are ignored")
      ->type_name("FILE");
}

void addChangeOptions(CLI::App& command, ControlOptions& options) {
  addOptions(command, guardOptions(options.local.binding));
  command.add_option("--proc", options.proc, "where processes are found that hold a device")
      ->capture_default_str();
}

AuditPeer thisPeer() {
  return {"root", geteuid(), getpid()};
}

}  // namespace vfiogate
