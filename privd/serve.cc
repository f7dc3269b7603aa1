#include "privd/serve.h"

#include "ipc/types/viability.h"
#include "privd/audit/audit_log.h"
#include "privd/base/instance_lock.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/bind/binding.h"
#include "privd/gate/plugind_lease.h"
#include "privd/rpc/gate_process.h"
#include "privd/rpc/helper_server.h"
#include "privd/rpc/plugind_link.h"
#include "privd/sandbox/landlock_places.h"
#include "privd/sandbox/lost_directory.h"
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
/// For what it takes away at its end.
constexpr auto kGatePatience = 2 * kj::SECONDS;

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

kj::Promise<void> onEnd(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).exclusiveJoin(port.onSignal(SIGINT)).ignoreResult();
}

/// KJ asks the kernel for signals anew when it waits for others than before, which the filter
/// forbids: so these are waited for to the end, also while a change is brought to its own.
kj::Promise<void> takeForever(kj::UnixEventPort& port, int signal) {
  return port.onSignal(signal).then(
      [&port, signal](const siginfo_t&) { return takeForever(port, signal); });
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
  kj::Maybe<kj::AutoCloseFd> uevents;
  BindingDeps binding;
  AllocationFiles allocations;
};

std::string why(int error) {
  return std::string(": ") + strerror(error);
}

Result<Opened, std::string> openAll(const ServeOptions& options) {
  auto lease = PlugindLease::open(options.stateDir, drawNumber());
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
                                     Opened opened, ForkServer forkServer, const GateProcess& gate,
                                     kj::Promise<void> ended) {
  kj::Timer& timer = io.provider->getTimer();
  const SplitPath plugindPath = splitPath(options.plugind);
  NameWatch plugindSocket(io.unixEventPort, timer, plugindPath.directory.c_str(),
                          plugindPath.name.c_str());
  NameWatch holds(io.unixEventPort, timer, (options.stateDir + "/holds").c_str(), "");
  const std::uint64_t epoch = drawNumber();
  io.waitScope.poll();  // KJ asks for the signals at its first poll, which the filter forbids

  const LastingDirectories directories = daemonDirectories(options);
  const auto places = confineTo(options, opened.sysfs);
  if (!places) return places.error();
  if (auto failure = loadFilter(kPrivdRules)) return failure;
  logLine(LogEvent::kLockedDown);

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
  kj::Maybe<AllocationBinder&> allocations;
  if (policy.plugindRights.bind) allocations = binding.allocations();
  Node node{source, counts, opened.sysfs, opened.dev, opened.allocations, allocations, timer};
  PlugindLink plugind(node, gate, io, policy, options.plugind.c_str(), plugindSocket);
  binding.serve(source, options.declared, holds);
  KJ_DEFER(binding.leave());
  const auto first = source.current();
  logLine(LogEvent::kStarted, {{"version", kj::str(options.build.version.data())},
                               {"commit", kj::str(options.build.commit.data())},
                               {"devices", kj::str(first.snapshot->devices.size())},
                               {"groups", kj::str(first.snapshot->groups.size())}});
  const auto kept = binding.state().declared();
  const bool binds =
      policy.plugindRights.bind || !options.declared.empty() || !kept || !kept->empty();
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
  auto gateEnded = gate.ended(io.unixEventPort).then([&failure]() {
    failure = StepFailure{"privd-gate ended: start privd again"};
  });
  ended.exclusiveJoin(kj::mv(lost)).exclusiveJoin(kj::mv(gateEnded)).wait(io.waitScope);
  // A change that was begun is brought to its end, unless the kernel keeps it.
  binding.idle().exclusiveJoin(timer.afterDelay(kLongestChange)).wait(io.waitScope);
  gate.end();
  gate.ended(io.unixEventPort).exclusiveJoin(timer.afterDelay(kGatePatience)).wait(io.waitScope);
  logLine(LogEvent::kStopped);
  return failure;
}

}  // namespace

int serve(const ServeOptions& options, const std::vector<std::string>& arguments) {
  if (geteuid() != 0) {
    return fail("serve: must be started as root; it gives up every capability by itself");
  }
  useLogForm(options.logForm);
  neverWaitForLogReader();
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  endWithoutMemory(formatLine(options.logForm, LogEvent::kOutOfMemory, nullptr) + "\n",
                   restampLogLine);
  if (const auto failure = limitResources(kLimits, tellLower)) return fail(failure->str());
  if (const auto failure = dropPrivileges({})) return fail(failure->str());
  auto forkServer = ForkServer::start();
  if (!forkServer) return fail(forkServer.error());
  auto lock = InstanceLock::open(options.stateDir);
  if (!lock) return fail("--state-dir " + options.stateDir + why(lock.error().error));
  InstanceLock instance = kj::mv(lock).value();
  auto io = kj::setupAsyncIo();
  const auto terms = takeForever(io.unixEventPort, SIGTERM).eagerlyEvaluate(nullptr);
  const auto interrupts = takeForever(io.unixEventPort, SIGINT).eagerlyEvaluate(nullptr);
  auto ended = onEnd(io.unixEventPort).fork();
  // Wait for the previous privd to exit first.
  const bool ours = awaitTurn(instance, io.provider->getTimer(), kFirstPause)
                        .then([]() { return true; })
                        .exclusiveJoin(ended.addBranch().then([]() { return false; }))
                        .wait(io.waitScope);
  if (!ours) return 0;
  auto gate = GateProcess::start(arguments);
  if (!gate) return fail(gate.error());
  auto opened = openAll(options);
  if (!opened) return fail(opened.error());
  if (const auto failure = runLocked(options, io, kj::mv(opened).value(),
                                     kj::mv(forkServer).value(), *gate, ended.addBranch())) {
    return fail(failure->str());
  }
  return 0;
}

}  // namespace vfiogate
