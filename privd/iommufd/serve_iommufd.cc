// privd's iommufd process, of a host only: hands KubeVirt's launchers contexts of /dev/iommu.

#include "ipc/base/build_info.h"
#include "ipc/socket/unix_socket.h"
#include "privd/base/instance_lock.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/base/plain_loop.h"
#include "privd/iommufd/iommu_context.h"
#include "privd/iommufd/iommufd_server.h"
#include "privd/options/program_options.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/iommufd_rules.h"
#include "seccomp/load_filter.h"
#include "seccomp/resource_limits.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

namespace vfiogate {
namespace {

constexpr const char* kAbout =
    R"(iommufd: hands KubeVirt's launchers contexts of /dev/iommu, which a host's process alone can open
Usage: privd-iommufd [OPTIONS]
)";

/// Descriptors: the kernel refuses to send one while more of root's than this are under way, in
/// whatever process. So launchers that leave theirs unread never come near what privd-gate, whose
/// limit is higher, may send.
constexpr ResourceLimits kLimits{.descriptors = 256, .memory = 10U << 20U};

int fail(const std::string& what) {
  std::cerr << "privd-iommufd: " << what << "\n";
  return 1;
}

/// A container's runtime that finds no socket to mount makes a directory of its name. An empty one
/// is taken away, nothing else.
Result<kj::AutoCloseFd, std::string> listenOn(const SplitPath& path) {
  const std::string whole = path.directory + "/" + path.name;
  struct stat status = {};
  const bool directory = lstat(whole.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (directory && unlinkat(AT_FDCWD, whole.c_str(), AT_REMOVEDIR) != 0) {
    return Failure{whole + " is a directory" + why(errno)};
  }
  auto made = listenAt(path.directory.c_str(), path.name.c_str(), WhoMayConnect::kEverybody);
  if (!made) return Failure{whole + ": " + made.error().step + why(made.error().error)};
  return kj::mv(made).value();
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything taken from outside.
std::optional<StepFailure> runLocked(const IommufdOptions& options, kj::AutoCloseFd listener,
                                     int signals) {
  const auto places =
      confineTo(allowedPlaces(kIommufdPlaces, {{"<dev>", options.dev}}), options.requireLandlock);
  if (!places) return places.error();
  if (auto failure = loadFilter(kIommufdRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", "iommufd"}});

  const std::string device = options.dev + "/iommu";
  const auto open = [&device] {
    return openContext(device,
                       [](bool raised) { return raiseCapability(CAP_SYS_RESOURCE, raised); });
  };
  if (const auto tried = open(); !tried) {
    logLine(LogEvent::kIommufdAbsent, {{"device", device},
                                       {"step", std::string(tried.error().step)},
                                       {"error", std::string(strerror(tried.error().error))}});
  }
  logLine(LogEvent::kStarted, {{"role", "iommufd"},
                               {"version", kBuild.version.data()},
                               {"commit", kBuild.commit.data()},
                               {"date", kBuild.date.data()}});
  IommufdServer(kj::mv(listener), signals, open).run();
  logLine(LogEvent::kStopped, {{"role", "iommufd"}});
  return std::nullopt;
}

/// Serves until SIGTERM or SIGINT; returns the exit code. Failures of start-up are one line on
/// stderr and 1, another one that has the socket's directory among them.
int serveIommufd(const IommufdOptions& options) {
  if (geteuid() != 0) {
    return fail("must be started as root; it gives up every capability but CAP_SYS_RESOURCE");
  }
  beginLog(options.logForm);
  if (const auto failure = limitResources(kLimits, tellLower)) return fail(failure->str());
  if (const auto failure = dropPrivilegesBut(CAP_SYS_RESOURCE, {})) return fail(failure->str());
  const auto signals = takeEndSignals();
  if (!signals) return fail("signals" + why(signals.error().error));
  const SplitPath path = splitPath(options.socket);
  auto lock = InstanceLock::open(path.directory, path.name + ".lock");
  if (!lock) return fail(path.directory + why(lock.error().error));
  InstanceLock instance = kj::mv(lock).value();
  if (!instance.tryTake()) return fail("--socket is served by another: " + instance.holder());
  auto listener = listenOn(path);
  if (!listener) return fail("--socket " + listener.error());
  const auto failure = runLocked(options, kj::mv(listener).value(), *signals);
  return failure ? fail(failure->str()) : 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  vfiogate::IommufdOptions options;
  vfiogate::OptionTable table = vfiogate::iommufdOptions(options);
  const auto through = vfiogate::takeArguments(
      table, {argv + 1, argv + argc}, {"privd-iommufd", vfiogate::kAbout, vfiogate::kBuild.text});
  return through ? *through : vfiogate::serveIommufd(options);
}
