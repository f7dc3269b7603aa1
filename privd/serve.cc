#include "privd/serve.h"

#include "ipc/socket/unix_socket.h"
#include "ipc/types/viability.h"
#include "privd/audit/audit_log.h"
#include "privd/base/instance_lock.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/bind/binding.h"
#include "privd/cdi/device_metadata.h"
#include "privd/rpc/command_socket.h"
#include "privd/rpc/helper_server.h"
#include "privd/rpc/plugind_link.h"
#include "privd/rpc/servers.h"
#include "privd/sandbox/landlock_places.h"
#include "privd/sandbox/lasting_directories.h"
#include "privd/scan/snapshot_source.h"
#include "privd/scan/uevent_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/privd_rules.h"
#include "seccomp/resource_limits.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <random>

namespace vfiogate {
namespace {

/// Descriptors: the kernel refuses to send one while all of root's that are under way, in whatever
/// process, are more (ETOOMANYREFS).
constexpr ResourceLimits kLimits{.descriptors = 4096, .memory = 56U << 20U};
constexpr auto kFirstPause = 250 * kj::MILLISECONDS;
constexpr auto kLongestTurn = 2 * kj::SECONDS;
constexpr auto kLongestChange = 10 * kj::SECONDS;
constexpr auto kLeftOutPause = 10 * kj::SECONDS;

int fail(const std::string& what) {
  std::cerr << "privd: " << what << "\n";
  return 1;
}

void tellLower(const LowerLimit& lower) {
  logLine(LogEvent::kLimitLower, {{"what", kj::str(lower.what)},
                                  {"wanted", kj::str(lower.wanted)},
                                  {"allowed", kj::str(lower.allowed)}});
}

RolePolicy policyOf(const ServeOptions& options) {
  const std::string rights = "," + options.plugindRights + ",";
  const auto has = [&rights](const char* right) { return rights.find(right) != std::string::npos; };
  return {options.plugindUid, Rights{.watch = has(",watch,"),
                                     .kubelet = has(",kubelet,"),
                                     .cdi = has(",cdi,"),
                                     .bind = has(",bind,")}};
}

kj::Vector<kj::String> prefixesOf(const ServeOptions& options) {
  kj::Vector<kj::String> prefixes;
  for (const std::string& prefix : options.resourcePrefixes) prefixes.add(kj::str(prefix.c_str()));
  return prefixes;
}

kj::Promise<void> onEnd(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).exclusiveJoin(port.onSignal(SIGINT)).ignoreResult();
}

std::uint64_t drawNumber() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

/// What was opened while it was still allowed.
struct Opened {
  PlugindLease lease;
  SysfsRoot sysfs;
  DevRoot dev;
  kj::AutoCloseFd commands;
  kj::Maybe<kj::AutoCloseFd> uevents;
  BindingDeps binding;
  AllocationRecords allocations;
};

std::string why(int error) {
  return std::string(": ") + strerror(error);
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

Result<Opened, std::string> openAll(const ServeOptions& options) {
  auto lease = PlugindLease::open(options.stateDir, drawNumber());
  if (!lease) return Failure{"--state-dir " + options.stateDir + why(lease.error().error)};
  auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{"--sysfs " + options.sysfs + why(sysfs.error().error)};
  auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{"--dev " + options.dev + why(dev.error().error)};
  if (policyOf(options).plugindRights.cdi) {
    // Later it may come to be there still: each declaration says what it met.
    if (const auto made = CdiDirectory::make(options.cdiDir); !made) {
      logLine(LogEvent::kSpecFailed, {{"what", kj::str(options.cdiDir.c_str())},
                                      {"error", kj::str(strerror(made.error().error))}});
    }
  }
  if (!options.draDriver.empty()) makeDraDirectories(options);
  // A rotated log's head is told at once: its file may be carried away.
  auto binding = openBindingParts(options.stateDir, options.binding, {.rotated = tellHead});
  if (!binding) return Failure{binding.error()};
  auto allocations = AllocationRecords::open(recordDirectory(options.recordDir, options.stateDir),
                                             binding->bootId);
  if (!allocations) return Failure{"--record-dir " + allocations.error().str()};
  for (const std::string& problem : allocations->problems()) {
    logLine(LogEvent::kStateProblem, {{"file", kj::str(problem.c_str())}});
  }
  const SplitPath path = splitPath(options.socket);
  auto commands = listenAt(path.directory.c_str(), path.name.c_str(), WhoMayConnect::kOwner);
  if (!commands) {
    return Failure{"--socket " + options.socket + ": " + commands.error().step +
                   why(commands.error().error)};
  }
  kj::Maybe<kj::AutoCloseFd> uevents;
  if (options.uevents == "on") {
    auto socket = openUeventSocket();
    if (!socket) {
      return Failure{"the kernel's events" + why(socket.error()) +
                     ": try --uevents off, which rereads every --rescan seconds"};
    }
    uevents = kj::mv(socket).value();
  }
  return Opened{kj::mv(lease).value(),      kj::mv(sysfs).value(), kj::mv(dev).value(),
                kj::mv(commands).value(),   kj::mv(uevents),       kj::mv(binding).value(),
                kj::mv(allocations).value()};
}

/// What a flood left out is told, too, once nothing of it follows.
kj::Promise<void> tellLeftOutForever(kj::Timer& timer) {
  return timer.afterDelay(kLeftOutPause).then([&timer]() {
    tellLeftOut();
    return tellLeftOutForever(timer);
  });
}

/// Resolves when the lock is ours. The kernel can wait for a lock only by holding the loop up, so
/// it is asked again: after 250 ms at first, then half as often each time, up to 2 s.
kj::Promise<void> awaitTurn(InstanceLock& lock, kj::Timer& timer, kj::Duration pause) {
  if (lock.tryTake()) return kj::READY_NOW;
  if (pause == kFirstPause) {
    logLine(LogEvent::kInstanceWaits, {{"holder", kj::str(lock.holder().c_str())}});
  }
  return timer.afterDelay(pause).then([&lock, &timer, pause]() {
    return awaitTurn(lock, timer, kj::min(pause * 2, kLongestTurn));
  });
}

/// Everything that needs a system call of start-up is made here, then the filter goes in, and only
/// then is anything read that somebody else wrote.
std::optional<StepFailure> runLocked(const ServeOptions& options, kj::AsyncIoContext& io,
                                     Opened opened, ForkServer forkServer,
                                     kj::Promise<void> ended) {
  kj::Timer& timer = io.provider->getTimer();
  const SplitPath plugindPath = splitPath(options.plugind);
  NameWatch plugindSocket(io.unixEventPort, timer, plugindPath.directory.c_str(),
                          plugindPath.name.c_str());
  KubeletGate kubelet(io.unixEventPort, timer, options.kubeletDir.c_str(), prefixesOf(options),
                      options.draDriver.c_str(), options.socket.c_str());
  kj::Maybe<PlugindConfig> config;
  if (!options.plugindConfig.empty()) {
    config.emplace(io.unixEventPort, timer, options.plugindConfig.c_str());
  }
  const std::uint64_t epoch = drawNumber();
  io.waitScope.poll();  // KJ asks for the signals at its first poll, which the filter forbids

  LastingDirectories directories = lastingDirectories(options, Confined::kYes);
  const auto places = confineTo(options, opened.sysfs);
  if (!places) return places.error();
  if (places->abi == 0) directories = lastingDirectories(options, Confined::kNo);
  if (auto failure = loadFilter(kPrivdRules)) return failure;
  logLine(LogEvent::kLockedDown);

  if (opened.lease.isFree()) withdrawDra(kubelet);  // otherwise that plugind may be serving it

  const RolePolicy policy = policyOf(options);
  Binding binding({opened.sysfs, opened.dev, opened.allocations, opened.lease, io.unixEventPort,
                   timer, options.plugindUid, policy.plugindRights.bind},
                  kj::mv(opened.binding), options.binding, kj::mv(forkServer));
  ScanDeps deps = scanDeps(opened.sysfs, opened.dev);
  deps.binding = [&binding](const Snapshot& snapshot, const IommuGroup& group) {
    return binding.bindingOf(snapshot, group);
  };
  DiscoveryCounts counts;
  counts[DiscoveryCount::kLandlock] = static_cast<std::uint64_t>(places->abi);
  SnapshotSource source(timer, epoch, options.rescanSeconds * kj::SECONDS, kj::mv(deps), counts);
  if (source.current().generation == 0)
    return StepFailure{.step = "the first scan of sysfs failed"};
  kj::Maybe<UeventListener> uevents;
  KJ_IF_MAYBE (socket, opened.uevents) {
    uevents.emplace(
        io.unixEventPort, kj::mv(*socket), [&source](const Places& where) { source.hint(where); },
        counts);
  }
  kj::Maybe<CdiStore> cdi;
  if (policy.plugindRights.cdi) cdi.emplace(options.cdiDir, kubelet, opened.dev);
  kj::Maybe<ClaimStore> claims;
  if (policy.plugindRights.cdi) {
    claims.emplace(options.cdiDir, draDirectory(options) + kMetadataDirectory, kubelet, opened.dev);
  }
  kj::Maybe<AllocationBinder&> allocations;
  if (policy.plugindRights.bind) allocations = binding.allocations();
  Node node{source,       counts, opened.sysfs, opened.dev,  kubelet, opened.allocations,
            opened.lease, config, cdi,          allocations, timer,   binding.operators(),
            claims};
  CommandSocket commands(node, io, policy, kj::mv(opened.commands));
  PlugindLink plugind(node, io, policy, options.plugind.c_str(), plugindSocket);
  binding.serve(source, options.declared);
  const auto first = source.current();
  logLine(LogEvent::kStarted, {{"version", kj::str(options.build.version.data())},
                               {"commit", kj::str(options.build.commit.data())},
                               {"devices", kj::str(first.snapshot->devices.size())},
                               {"groups", kj::str(first.snapshot->groups.size())}});
  const bool binds = policy.plugindRights.bind || !options.declared.empty() ||
                     !binding.operators().declared().empty();
  for (const NodeObstacle& obstacle :
       obstaclesOf(*first.snapshot, binds ? BindingAsked::kYes : BindingAsked::kNo)) {
    logLine(LogEvent::kNodeObstacle,
            {{"reason", kj::str(obstacle.code.data())}, {"fix", kj::str(obstacle.fix.data())}});
  }
  auto heads = binding.tellHeads();
  auto leftOut = tellLeftOutForever(timer);
  std::optional<StepFailure> failure;
  auto lost = whenLost(directories, timer).then([&failure](LastingDirectories::Lost what) {
    logLine(LogEvent::kDirectoryLost, {{"directory", kj::str(what.path.c_str())},
                                       {"why", kj::str(what.why)},
                                       {"then", kj::str("ends, to be started anew")}});
    failure = StepFailure{what.path + " " + what.why + ": start privd again"};
  });
  ended.exclusiveJoin(kj::mv(lost)).wait(io.waitScope);
  // A change that was begun is brought to its end, unless the kernel keeps it.
  binding.idle().exclusiveJoin(timer.afterDelay(kLongestChange)).wait(io.waitScope);
  // plugind may end after privd, and cannot unlink it. One that lives on asks the next privd for
  // it.
  withdrawDra(kubelet);
  logLine(LogEvent::kStopped);
  return failure;
}

}  // namespace

int serve(const ServeOptions& options) {
  if (geteuid() != 0) {
    return fail("serve: must be started as root; it gives up every capability by itself");
  }
  neverWaitForLogReader();
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  endWithoutMemory(kj::str(formatLine(LogEvent::kOutOfMemory, nullptr), "\n").cStr());
  if (const auto failure = limitResources(kLimits, tellLower)) return fail(failure->str());
  if (const auto failure = dropPrivileges({})) return fail(failure->str());
  auto forkServer = ForkServer::start();
  if (!forkServer) return fail(forkServer.error());
  auto lock = InstanceLock::open(options.stateDir);
  if (!lock) return fail("--state-dir " + options.stateDir + why(lock.error().error));
  InstanceLock instance = kj::mv(lock).value();
  auto io = kj::setupAsyncIo();
  auto ended = onEnd(io.unixEventPort).fork();
  // Wait for the previous privd to exit first.
  const bool ours = awaitTurn(instance, io.provider->getTimer(), kFirstPause)
                        .then([]() { return true; })
                        .exclusiveJoin(ended.addBranch().then([]() { return false; }))
                        .wait(io.waitScope);
  if (!ours) return 0;
  auto opened = openAll(options);
  if (!opened) return fail(opened.error());
  if (const auto failure = runLocked(options, io, kj::mv(opened).value(),
                                     kj::mv(forkServer).value(), ended.addBranch())) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace vfiogate
