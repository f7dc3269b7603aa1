#include "privd/gate/serve_gate.h"

#include "privd/base/boot_id.h"
#include "privd/base/log_line.h"
#include "privd/cdi/device_metadata.h"
#include "privd/gate/gate_loop.h"
#include "privd/sandbox/gate_places.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/gate_rules.h"
#include "seccomp/load_filter.h"
#include "seccomp/resource_limits.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <string>

namespace vfiogate {
namespace {

/// Descriptors: the kernel refuses to send one while all of root's that are under way, in whatever
/// process, are more (ETOOMANYREFS).
constexpr ResourceLimits kLimits{.descriptors = 4096, .memory = 48U << 20U};

int fail(const std::string& what) {
  std::cerr << "privd-gate: " << what << "\n";
  return 1;
}

std::string why(int error) {
  return std::string(": ") + strerror(error);
}

void tellLower(const LowerLimit& lower) {
  logLine(LogEvent::kLimitLower, {{"what", kj::str(lower.what)},
                                  {"wanted", kj::str(lower.wanted)},
                                  {"allowed", kj::str(lower.allowed)}});
}

std::uint64_t drawNumber() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

/// From now on these signals wait to be read from `fd`. Whoever reads a socket or the log and goes
/// away must not end this process.
std::optional<StepFailure> takeSignals(kj::AutoCloseFd& fd) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  if (sigprocmask(SIG_BLOCK, &ends, nullptr) != 0) return StepFailure{"sigprocmask", errno};
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) return StepFailure{"signal", errno};
  fd = kj::AutoCloseFd(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) return StepFailure{"signalfd", errno};
  return std::nullopt;
}

std::string draDirectory(const ServeOptions& options) {
  return options.kubeletDir + "/plugins/" + options.draDriver;
}

/// What is missing of the driver's own directory, below the kubelet's, which may not have run yet.
void makeDraDirectories(const ServeOptions& options) {
  const std::string directory = draDirectory(options);
  auto made = CdiDirectory::make(options.kubeletDir + "/plugins", 0750);
  if (made) made = CdiDirectory::make(directory);
  if (made) made = CdiDirectory::make(directory + kMetadataDirectory);
  if (made) return;
  logLine(LogEvent::kSocketFailed, {{"driver", kj::str(options.draDriver.c_str())},
                                    {"step", kj::str("mkdir")},
                                    {"error", kj::str(strerror(made.error().error))}});
}

void makeCdiDirectory(const ServeOptions& options) {
  // Later it may come to be there still: each declaration says what it met.
  if (const auto made = CdiDirectory::make(options.cdiDir); !made) {
    logLine(LogEvent::kSpecFailed, {{"what", kj::str(options.cdiDir.c_str())},
                                    {"error", kj::str(strerror(made.error().error))}});
  }
}

/// What was opened while it was still allowed.
struct Opened {
  PlugindLease lease;
  AllocationRecords records;
};

Result<Opened, std::string> openAll(const ServeOptions& options, const Rights& rights) {
  auto lease = PlugindLease::open(options.stateDir, drawNumber());
  if (!lease) return Failure{"--state-dir " + options.stateDir + why(lease.error().error)};
  if (rights.cdi) makeCdiDirectory(options);
  if (!options.draDriver.empty()) makeDraDirectories(options);
  auto records =
      AllocationRecords::open(recordDirectory(options.recordDir, options.stateDir), bootId());
  if (!records) return Failure{"--record-dir " + records.error().str()};
  for (const std::string& problem : records->problems()) {
    logLine(LogEvent::kStateProblem, {{"file", kj::str(problem.c_str())}});
  }
  return Opened{kj::mv(lease).value(), kj::mv(records).value()};
}

std::vector<std::string> watchedDirectories(const ServeOptions& options,
                                            const KubeletGate& kubelet) {
  auto directories = kubelet.watchedDirectories();
  if (!options.plugindConfig.empty()) {
    directories.push_back(splitPath(options.plugindConfig).directory);
  }
  return directories;
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything read that somebody else wrote.
std::optional<StepFailure> runLocked(const ServeOptions& options, Opened opened, int controlFd,
                                     int signals) {
  const ServedNames names{options.resourcePrefixes, options.draDriver};
  const Rights rights = rightsIn(options.plugindRights);
  KubeletGate kubelet(options.kubeletDir.c_str(), names);
  CdiStore specs(options.cdiDir, names);
  ClaimStore claims(options.cdiDir, draDirectory(options) + kMetadataDirectory, names);
  GateService service({kubelet, names, opened.lease, opened.records, SpecService(specs, claims),
                       rights, options.plugindConfig});
  auto files = DirectoryWatch::open(watchedDirectories(options, kubelet));
  if (!files) return StepFailure{"inotify_init1", files.error()};
  DirectoryWatch watch = kj::mv(files).value();

  LastingDirectories lasting = gateDirectories(options, Confined::kYes);
  const auto places = confineTo(allowedPlaces(kGatePlaces, options), options.requireLandlock);
  if (!places) return places.error();
  if (places->abi == 0) lasting = gateDirectories(options, Confined::kNo);
  if (auto failure = loadFilter(kGateRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", kj::str("gate")}});
  if (sendPacket(controlFd, {"", 1}) != PacketSent::kSent) return StepFailure{"the daemon left"};

  service.withdrawDraIfUnserved();  // otherwise that plugind may be serving it
  GateLoop loop({service, watch, lasting, controlFd, signals});
  const GateLoop::End end = loop.run();
  // plugind may end after this process, and cannot unlink it. One that lives on asks the next one
  // for it.
  service.withdrawDra();
  if (!end.lost) return std::nullopt;
  logLine(LogEvent::kDirectoryLost, {{"directory", kj::str(end.lost->path.c_str())},
                                     {"why", kj::str(end.lost->why)},
                                     {"then", kj::str("ends, to be started anew")}});
  return StepFailure{end.lost->path + " " + end.lost->why + ": start privd again"};
}

}  // namespace

int serveGate(const ServeOptions& options, int controlFd) {
  if (geteuid() != 0) return fail("must be started as root, by privd serve");
  useLogForm(options.logForm);
  neverWaitForLogReader();
  endWithoutMemory(formatLine(options.logForm, LogEvent::kOutOfMemory, nullptr) + "\n",
                   restampLogLine);
  if (const auto failure = limitResources(kLimits, tellLower)) return fail(failure->str());
  const std::array kept{controlFd};
  if (const auto failure = dropPrivileges({.descriptors = kept})) return fail(failure->str());
  kj::AutoCloseFd signals;
  if (const auto failure = takeSignals(signals)) return fail(failure->str());
  auto opened = openAll(options, rightsIn(options.plugindRights));
  if (!opened) return fail(opened.error());
  if (const auto failure = runLocked(options, kj::mv(opened).value(), controlFd, signals)) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace vfiogate
