// privd's hardware process: tells plugind what PCI devices the node has. It is not root.

#include "ipc/base/build_info.h"
#include "ipc/socket/stream_flags.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/hardware/connection.h"
#include "privd/hardware/helper_server.h"
#include "privd/loop/plugind_link.h"
#include "privd/loop/role_loop.h"
#include "privd/options/program_options.h"
#include "privd/sandbox/hardware_places.h"
#include "privd/scan/snapshot_source.h"
#include "privd/scan/uevent_socket.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/load_filter.h"

#include <unistd.h>

#include <iostream>

namespace vfiogate {
namespace {

constexpr const char* kAbout =
    R"(the hardware process: reads sysfs and tells plugind what is there; not as root
Usage: privd-hardware [OPTIONS]
)";

constexpr ResourceLimits kLimits{.descriptors = 256, .memory = 40U << 20U};

int fail(const std::string& what) {
  std::cerr << "privd-hardware: " << what << "\n";
  return 1;
}

/// What was opened while it was still allowed.
struct Opened {
  SysfsRoot sysfs;
  DevRoot dev;
  kj::Maybe<kj::AutoCloseFd> uevents;
};

Result<Opened, std::string> openAll(const HardwareOptions& options) {
  auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{"--sysfs " + options.sysfs + why(sysfs.error().error)};
  auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{"--dev " + options.dev + why(dev.error().error)};
  kj::Maybe<kj::AutoCloseFd> uevents;
  if (options.uevents == "on") {
    auto socket = openUeventSocket();
    if (!socket) {
      return Failure{"the kernel's events" + why(socket.error()) +
                     ": try --uevents off, which rereads every --rescan seconds"};
    }
    uevents = kj::mv(socket).value();
  }
  return Opened{kj::mv(sysfs).value(), kj::mv(dev).value(), kj::mv(uevents)};
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything read that somebody else wrote.
std::optional<StepFailure> runLocked(const HardwareOptions& options, RoleLoop& loop,
                                     Opened opened) {
  const SplitPath plugindPath = splitPath(options.plugind);
  NameWatch plugindSocket(loop.port(), loop.timer(), plugindPath.directory.c_str(),
                          plugindPath.name.c_str());
  const std::uint64_t epoch = drawNumber();
  loop.settle();
  const auto places =
      confineTo(allowedPlaces(kHardwarePlaces, placeValuesOf(options)), options.requireLandlock);
  if (!places) return places.error();
  if (auto failure = loadFilter(kHardwareRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", kj::str("hardware")}});

  DiscoveryCounts counts;
  counts[DiscoveryCount::kLandlock] = static_cast<std::uint64_t>(places->abi);
  const kj::Duration rescan = options.rescanSeconds * kj::SECONDS;
  SnapshotSource source(
      loop.timer(), epoch,
      opened.uevents == nullptr ? Rescan::onlySweeps(rescan) : Rescan::mostlyGlances(rescan),
      scanDeps(opened.sysfs, opened.dev), counts);
  if (source.current().generation == 0)
    return StepFailure{.step = "the first scan of sysfs failed"};
  kj::Maybe<UeventListener> uevents;
  KJ_IF_MAYBE (socket, opened.uevents) {
    uevents.emplace(
        loop.port(), kj::mv(*socket), [&source](const Places& where) { source.hint(where); },
        counts);
  }
  Node node{source, counts, opened.sysfs, opened.dev, loop.timer()};
  const PlugindLink plugind({loop.timer(), plugindSocket, PrivdRole::kHardware, options.plugind,
                             options.plugindUid, [&node, &loop](kj::AutoCloseFd fd) {
                               auto connection = kj::heap<Connection>(
                                   node, loop.lowLevel().wrapSocketFd(kj::mv(fd), kStreamFlags));
                               auto ended = connection->ended();
                               return ended.attach(kj::mv(connection));
                             }});
  tellStart(PrivdRole::kHardware, kBuild, *source.current().snapshot, BindingAsked::kNo);
  if (!loop.tellReady()) return StepFailure{"the daemon left"};
  loop.ended().wait(loop.waitScope());
  logLine(LogEvent::kStopped, {{"role", kj::str("hardware")}});
  return std::nullopt;
}

/// Serves until SIGTERM or SIGINT, or the end of the daemon that started it; returns the exit code.
/// Refuses to run as root. Failures of start-up are one line on stderr and 1.
int serveHardware(const HardwareOptions& options, int readyFd) {
  if (geteuid() == 0) {
    return fail(
        "must not run as root: start it as plugind's --hardware-uid, such as 64531; privd "
        "serve does, and setpriv --reuid 64531 --regid 64531 --clear-groups");
  }
  if (const auto failure = beginRole(options.logForm, kLimits, readyFd)) {
    return fail(*failure);
  }
  RoleLoop loop(readyFd);
  auto opened = openAll(options);
  if (!opened) return fail(opened.error());
  if (const auto failure = runLocked(options, loop, kj::mv(opened).value())) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  return vfiogate::runRole<vfiogate::HardwareOptions>(
      {argv, argv + argc}, {"privd-hardware", vfiogate::kAbout, vfiogate::kBuild.text},
      vfiogate::hardwareOptions, vfiogate::serveHardware);
}
