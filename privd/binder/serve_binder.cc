// privd's binder: the root process that changes drivers.

#include "ipc/base/build_info.h"
#include "privd/audit/audit_log.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/bind/binding.h"
#include "privd/binder/binder_channel.h"
#include "privd/gate/plugind_lease.h"
#include "privd/loop/plugind_link.h"
#include "privd/loop/role_loop.h"
#include "privd/options/program_options.h"
#include "privd/sandbox/binder_places.h"
#include "privd/sandbox/lost_directory.h"
#include "privd/scan/uevent_socket.h"
#include "privd/scan/uevent_wake.h"
#include "seccomp/binder_rules.h"
#include "seccomp/load_filter.h"

#include <kj/debug.h>

#include <unistd.h>

#include <iostream>

namespace vfiogate {
namespace {

constexpr const char* kAbout =
    R"(the binder: binds devices to VFIO drivers, for allocations and as declared
Usage: privd-binder [OPTIONS]
)";

/// Descriptors: of 8 changes at once in groups of many disks.
constexpr ResourceLimits kLimits{.descriptors = 4096, .memory = 40U << 20U};
constexpr auto kLongestChange = 10 * kj::SECONDS;

int fail(const std::string& what) {
  std::cerr << "privd-binder: " << what << "\n";
  return 1;
}

/// What was opened while it was still allowed.
struct Opened {
  PlugindLease lease;
  SysfsRoot sysfs;
  DevRoot dev;
  kj::Maybe<kj::AutoCloseFd> uevents;
  BindingDeps binding;
  AllocationFiles allocations;
};

Result<Opened, std::string> openAll(const BinderOptions& options) {
  auto lease = PlugindLease::open(options.stateDir, 0);
  if (!lease) return Failure{"--state-dir " + options.stateDir + why(lease.error().error)};
  auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{"--sysfs " + options.sysfs + why(sysfs.error().error)};
  auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{"--dev " + options.dev + why(dev.error().error)};
  // A rotated log's head is told at once: its file may be carried away.
  auto binding = openBindingParts(options.stateDir, options.binding, {.rotated = tellHead});
  if (!binding) return Failure{binding.error()};
  auto allocations =
      AllocationFiles::open(recordDirectory(options.recordDir, options.stateDir), binding->bootId);
  if (!allocations) return Failure{"--record-dir " + allocations.error().str()};
  kj::Maybe<kj::AutoCloseFd> uevents;
  if (options.uevents == "on") {
    auto socket = openUeventSocket();
    if (!socket) {
      return Failure{"the kernel's events" + why(socket.error()) +
                     ": try --uevents off, which rereads every --rescan seconds"};
    }
    uevents = kj::mv(socket).value();
  }
  return Opened{kj::mv(lease).value(), kj::mv(sysfs).value(),   kj::mv(dev).value(),
                kj::mv(uevents),       kj::mv(binding).value(), kj::mv(allocations).value()};
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything read that somebody else wrote.
std::optional<StepFailure> runLocked(const BinderOptions& options, RoleLoop& loop, Opened opened,
                                     ForkServer forkServer) {
  const std::string path = options.plugindSocket();
  const SplitPath plugindPath = splitPath(path.empty() ? kPlugindSocket : path);
  kj::Maybe<NameWatch> plugindSocket;
  if (!path.empty()) {
    plugindSocket.emplace(loop.port(), loop.timer(), plugindPath.directory.c_str(),
                          plugindPath.name.c_str());
  }
  NameWatch holds(loop.port(), loop.timer(), (options.stateDir + "/holds").c_str(), "");
  loop.settle();
  const LastingDirectories directories =
      recordDirectories(recordDirectory(options.recordDir, options.stateDir));
  const auto places = confineTo(allowedPlaces(options, opened.sysfs), options.requireLandlock);
  if (!places) return places.error();
  if (auto failure = loadFilter(kBinderRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", kj::str("binder")}});

  Binding binding({opened.sysfs, opened.dev, opened.allocations, opened.lease, loop.port(),
                   loop.timer(), options.plugindUid, options.allocates()},
                  kj::mv(opened.binding), options.binding, kj::mv(forkServer));
  HostView view({opened.sysfs, opened.dev, loop.timer(), options.rescanSeconds * kj::SECONDS,
                 [&binding](const Snapshot& snapshot, const IommuGroup& group) {
                   return binding.bindingOf(snapshot, group);
                 }});
  if (view.current().generation == 0) return StepFailure{.step = "the first scan of sysfs failed"};
  kj::Maybe<UeventWake> uevents;
  KJ_IF_MAYBE (socket, opened.uevents) {
    uevents.emplace(loop.port(), loop.timer(), kj::mv(*socket), [&view]() { view.wake(); });
  }
  binding.serve(view, options.declared, options.vfs, holds);
  KJ_DEFER(binding.leave());
  GroupProbes probes(opened.dev, loop.timer());
  SerialReads serials(opened.sysfs, binding.writer(), loop.timer());
  const BinderChannel::Deps channelDeps{loop.port(),
                                        loop.timer(),
                                        opened.sysfs,
                                        opened.dev,
                                        opened.allocations,
                                        view,
                                        options.allocates() ? &binding.allocations() : nullptr,
                                        options.probes() ? &probes : nullptr,
                                        options.serials() ? &serials : nullptr};
  kj::Maybe<PlugindLink> plugind;
  KJ_IF_MAYBE (socketMade, plugindSocket) {
    plugind.emplace(PlugindLink::Deps{loop.timer(), *socketMade, PrivdRole::kBinder, path,
                                      options.plugindUid, [&channelDeps](kj::AutoCloseFd fd) {
                                        auto channel =
                                            kj::heap<BinderChannel>(channelDeps, kj::mv(fd));
                                        auto ended = channel->ended();
                                        return ended.attach(kj::mv(channel));
                                      }});
  }
  const auto kept = binding.state().declared();
  const bool binds = options.allocates() || !options.declared.empty() || !options.vfs.empty() ||
                     !kept || !kept->empty();
  tellStart(PrivdRole::kBinder, kBuild, *view.current().snapshot,
            binds ? BindingAsked::kYes : BindingAsked::kNo);
  auto heads = binding.tellHeads();
  if (!loop.tellReady()) return StepFailure{"the daemon left"};
  std::optional<StepFailure> failure;
  auto lost = whenLost(directories, loop.timer()).then([&](LastingDirectories::Lost what) {
    logLine(LogEvent::kDirectoryLost, {{"directory", kj::str(what.path.c_str())},
                                       {"why", kj::str(what.why)},
                                       {"then", kj::str("ends, to be started anew")}});
    failure = StepFailure{what.path + " " + what.why + ": start privd again"};
  });
  loop.ended().exclusiveJoin(kj::mv(lost)).wait(loop.waitScope());
  // A change that was begun is brought to its end, unless the kernel keeps it.
  binding.idle().exclusiveJoin(loop.timer().afterDelay(kLongestChange)).wait(loop.waitScope());
  logLine(LogEvent::kStopped, {{"role", kj::str("binder")}});
  return failure;
}

/// Serves until SIGTERM or SIGINT, or the end of the daemon that started it; returns the exit code.
/// Failures of start-up are one line on stderr and 1; nothing was touched then.
int serveBinder(const BinderOptions& options, int readyFd) {
  if (geteuid() != 0) {
    return fail("must be started as root; it gives up every capability by itself");
  }
  if (const auto failure = beginRole(options.logForm, kLimits, readyFd)) {
    return fail(*failure);
  }
  auto forkServer = ForkServer::start();
  if (!forkServer) return fail(forkServer.error());
  auto lock = InstanceLock::open(options.stateDir);
  if (!lock) return fail("--state-dir " + options.stateDir + why(lock.error().error));
  InstanceLock instance = kj::mv(lock).value();
  RoleLoop loop(readyFd);
  // Wait for the previous binder to exit first.
  const bool ours = awaitTurn(instance, loop.timer())
                        .then([]() { return true; })
                        .exclusiveJoin(loop.ended().then([]() { return false; }))
                        .wait(loop.waitScope());
  if (!ours) return 0;
  auto opened = openAll(options);
  if (!opened) return fail(opened.error());
  if (const auto failure =
          runLocked(options, loop, kj::mv(opened).value(), kj::mv(forkServer).value())) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  return vfiogate::runRole<vfiogate::BinderOptions>(
      {argv, argv + argc}, {"privd-binder", vfiogate::kAbout, vfiogate::kBuild.text},
      vfiogate::binderOptions, vfiogate::serveBinder);
}
