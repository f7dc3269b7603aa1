#include "privd/cli/binding/desk_options.h"

#include "ipc/socket/unix_socket.h"
#include "privd/cli/binding/remote_office.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {

void addDeskOptions(CLI::App& command, DeskOptions& options) {
  // Later ones win, so that the command line can correct an options file before it.
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command.add_option("--socket", options.socket, "the daemon's socket")->capture_default_str();
  command
      .add_option("--state-dir", options.local.stateDir,
                  "without a daemon: what outlives this command")
      ->capture_default_str();
  command
      .add_option("--audit-log", options.local.auditLog,
                  "without a daemon: where every write is recorded")
      ->capture_default_str();
  command
      .add_option("--sysfs", options.local.sysfs,
                  "without a daemon: the root below which sysfs is found")
      ->capture_default_str();
  command
      .add_option("--dev", options.local.dev,
                  "without a daemon: the root below which device nodes are looked for")
      ->capture_default_str();
  command
      .add_option("--options",
                  "file with more options, such as the daemon's: one a line, without the dashes; "
                  "those of `privd serve` that mean nothing here are passed over")
      ->type_name("FILE");
}

void addGuardOptions(CLI::App& command, DeskOptions& options) {
  const auto many = [](CLI::Option* option) { option->allow_extra_args(false)->take_all(); };
  many(command.add_option("--allow", options.local.allow,
                          "without a daemon: as of privd serve; repeatable"));
  many(command.add_option("--deny", options.local.deny,
                          "without a daemon: devices that are never changed; repeatable"));
  command
      .add_option("--host-mountinfo", options.local.hostMountinfo,
                  "without a daemon: the host's mounts, where these are a container's")
      ->type_name("FILE");
  command
      .add_option("--host-route", options.local.hostRoute,
                  "without a daemon: the host's routes, where these are a container's")
      ->type_name("FILE");
  command.add_flag("--allow-storage", options.local.allowStorage,
                   "without a daemon: storage may be bound without its exclusive open");
  command.add_flag("--allow-unguarded-unbind", options.local.allowUnguardedUnbind,
                   "without a daemon: unbind from VFIO also where the group's node cannot be held");
  command.add_option("--proc", options.proc, "where processes are found that hold a device")
      ->capture_default_str();
}

Result<kj::Own<BindingOffice>, std::string> openOffice(const DeskOptions& options,
                                                       const OfficeMaker& makeLocal,
                                                       kj::AsyncIoContext& io) {
  auto dialled = dialAt(options.socket.c_str());
  if (dialled) return RemoteOffice::open(io, kj::mv(dialled).value());
  const int error = dialled.error().error;
  if (error == ENOENT || error == ECONNREFUSED) return makeLocal(options.local, io);
  return Failure{options.socket + ": " + strerror(error) +
                 (error == EACCES ? ": are you root?" : "")};
}

AuditPeer thisPeer() {
  return {"root", getuid(), getpid()};
}

}  // namespace vfiogate
