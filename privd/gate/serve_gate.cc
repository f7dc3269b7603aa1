// privd's gate: the root process that talks to plugind about the kubelet's sockets, CDI specs,
// allocations and exclusions.

#include "ipc/base/build_info.h"
#include "privd/base/boot_id.h"
#include "privd/base/instance_lock.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/base/plain_loop.h"
#include "privd/cdi/device_metadata.h"
#include "privd/gate/gate_loop.h"
#include "privd/options/binding_options.h"
#include "privd/options/program_options.h"
#include "privd/sandbox/gate_places.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/gate_rules.h"
#include "seccomp/load_filter.h"
#include "seccomp/resource_limits.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <string>

namespace vfiogate {
namespace {

constexpr const char* kAbout =
    R"(the gate: has the kubelet's sockets, CDI specs and the record of allocations for plugind
Usage: privd-gate [OPTIONS]
)";

/// Descriptors: the kernel refuses to send one while all of root's that are under way, in whatever
/// process, are more (ETOOMANYREFS).
constexpr ResourceLimits kLimits{.descriptors = 4096, .memory = 24U << 20U};

int fail(const std::string& what) {
  std::cerr << "privd-gate: " << what << "\n";
  return 1;
}

std::uint64_t drawNumber() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

std::string draDirectory(const GateOptions& options) {
  return options.kubeletDir + "/plugins/" + options.draDriver;
}

/// Where it cannot be made it may come to be there still: each request says what it met.
void makeDirectory(const std::string& path, mode_t mode = 0755) {
  const auto made = CdiDirectory::make(path, mode);
  if (made) return;
  logLine(LogEvent::kDirectoryMissing,
          {{"directory", path}, {"error", strerror(made.error().error)}});
}

/// What is missing of the driver's own directory, below the kubelet's, which may not have run yet.
void makeDraDirectories(const GateOptions& options) {
  makeDirectory(options.kubeletDir + "/plugins", 0750);
  makeDirectory(draDirectory(options));
  makeDirectory(draDirectory(options) + kMetadataDirectory);
}

std::string exclusionsOf(const GateOptions& options) {
  return options.stateDir + "/holds";
}

/// Waits for the previous gate to end. The kernel can wait for a lock only by holding the process
/// up, so it is asked again: after 250 ms at first, then half as often each time, up to 2 s. False:
/// this one is to end before.
bool awaitTurn(InstanceLock& lock, int signals, int starter) {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirstTurn{250};
  constexpr milliseconds kLongestTurn{2000};
  for (auto pause = kFirstTurn; !lock.tryTake(); pause = std::min(pause * 2, kLongestTurn)) {
    if (pause == kFirstTurn) {
      logLine(LogEvent::kInstanceWaits, {{"holder", lock.holder()}, {"role", "gate"}});
    }
    std::array<pollfd, 2> ends{{{signals, POLLIN, 0}, {starter, POLLIN, 0}}};
    if (awaitAny(ends, pause)) return false;
  }
  return true;
}

/// What was opened while it was still allowed.
struct Opened {
  PlugindLease lease;
  AllocationRecords records;
};

Result<Opened, std::string> openAll(const GateOptions& options) {
  auto lease = PlugindLease::open(options.stateDir, drawNumber());
  if (!lease) return Failure{"--state-dir " + options.stateDir + why(lease.error().error)};
  if (const auto made = CdiDirectory::make(exclusionsOf(options), 0700); !made) {
    return Failure{exclusionsOf(options) + why(made.error().error)};
  }
  if (hasRight(options.plugindRights, "cdi")) makeDirectory(options.cdiDir);
  if (!options.draDriver.empty()) makeDraDirectories(options);
  auto records =
      AllocationRecords::open(recordDirectory(options.recordDir, options.stateDir), bootId());
  if (!records) return Failure{"--record-dir " + records.error().str()};
  for (const std::string& problem : records->problems()) {
    logLine(LogEvent::kStateProblem, {{"file", problem}});
  }
  return Opened{kj::mv(lease).value(), kj::mv(records).value()};
}

std::vector<std::string> watchedDirectories(const GateOptions& options,
                                            const KubeletGate& kubelet) {
  auto directories = kubelet.watchedDirectories();
  directories.push_back(splitPath(options.plugind).directory);
  directories.push_back(exclusionsOf(options));
  if (!options.plugindConfig.empty()) {
    directories.push_back(splitPath(options.plugindConfig).directory);
  }
  return directories;
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything read that somebody else wrote.
std::optional<StepFailure> runLocked(const GateOptions& options, Opened opened, int signals,
                                     int readyFd) {
  const ServedNames names{options.resourcePrefixes, options.draDriver};
  const Rights rights{.kubelet = hasRight(options.plugindRights, "kubelet"),
                      .cdi = hasRight(options.plugindRights, "cdi")};
  KubeletGate kubelet(options.kubeletDir.c_str(), names);
  CdiStore specs(options.cdiDir, names);
  ClaimStore claims(options.cdiDir, draDirectory(options) + kMetadataDirectory, names);
  GateService service({kubelet, names, opened.lease, opened.records, specs, claims, rights,
                       options.plugindConfig, exclusionsOf(options)});
  PlugindDial plugind(options.plugind, options.plugindUid);
  DirectoryWatch watch(watchedDirectories(options, kubelet));

  LastingDirectories lasting = gateDirectories(options, Confined::kYes);
  const auto places = confineTo(gatePlaces(options), options.requireLandlock);
  if (!places) return places.error();
  if (places->abi == 0) lasting = gateDirectories(options, Confined::kNo);
  if (auto failure = loadFilter(kGateRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", "gate"}});

  service.withdrawDraIfUnserved();  // otherwise that plugind may be serving it
  logLine(LogEvent::kStarted, {{"role", "gate"},
                               {"version", kBuild.version.data()},
                               {"commit", kBuild.commit.data()},
                               {"date", kBuild.date.data()}});
  if (readyFd >= 0 && sendPacket(readyFd, "1") != PacketSent::kSent) {
    return StepFailure{"who started it left"};
  }
  GateLoop loop({service, plugind, watch, lasting, signals, readyFd});
  const GateLoop::End end = loop.run();
  // plugind may end after this process, and cannot unlink it. One that lives on asks the next one
  // for it.
  service.withdrawDra();
  if (!end.lost) {
    logLine(LogEvent::kStopped, {{"role", "gate"}});
    return std::nullopt;
  }
  logLine(LogEvent::kDirectoryLost, {{"directory", end.lost->path},
                                     {"why", end.lost->why},
                                     {"then", "ends, to be started anew"}});
  return StepFailure{end.lost->path + " " + end.lost->why + ": start privd again"};
}

/// Waits until no other gate has the node, and serves until SIGTERM or SIGINT, or until who started
/// it closes the other end of --ready-fd; returns the exit code. Says by one byte there that it is
/// locked down. Failures of start-up are one line on stderr and 1.
int serveGate(const GateOptions& options, int readyFd) {
  if (geteuid() != 0)
    return fail("must be started as root; it gives up every capability by itself");
  beginLog(options.logForm);
  if (const auto failure = limitResources(kLimits, tellLower)) return fail(failure->str());
  const std::span kept(&readyFd, readyFd < 0 ? 0 : 1);
  if (const auto failure = dropPrivilegesAsIs(kept)) return fail(failure->str());
  const auto signals = takeEndSignals();
  if (!signals) return fail("signals" + why(signals.error().error));
  auto lock = InstanceLock::open(options.stateDir, "gate.lock");
  if (!lock) return fail("--state-dir " + options.stateDir + why(lock.error().error));
  InstanceLock instance = kj::mv(lock).value();
  if (!awaitTurn(instance, *signals, readyFd)) return 0;
  auto opened = openAll(options);
  if (!opened) return fail(opened.error());
  if (const auto failure = runLocked(options, kj::mv(opened).value(), *signals, readyFd)) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  vfiogate::GateOptions options;
  int readyFd = -1;
  vfiogate::OptionTable table = vfiogate::gateOptions(options);
  table.push_back(vfiogate::readyOption(readyFd));
  const auto through = vfiogate::takeArguments(
      table, {argv + 1, argv + argc}, {"privd-gate", vfiogate::kAbout, vfiogate::kBuild.text});
  return through ? *through : vfiogate::serveGate(options, readyFd);
}
