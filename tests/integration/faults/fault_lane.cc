// What is killed, and how it comes back.

#include "tests/integration/faults/fault_lane.h"

#include "sim/base/process_status.h"
#include "tests/support/seen/call_stops.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string_view>

namespace vfiogate::test {
namespace {

constexpr const char* kConfig =
    "resources:\n"
    "  - {name: vfiogate.dev/gpu, select: {device: \"2684\"}}\n"
    "  - {name: vfiogate.dev/other, select: {device: \"2685\"}}\n"
    "  - {select: {vendor: \"1b36\"}}\n";

const std::vector<std::string> kResources{"vfiogate.dev/gpu", "vfiogate.dev/other"};

/// From an operation's start to its step; privd rereads the hardware once a second.
constexpr std::chrono::seconds kStepPatience{5};

/// With books that are not to balance.
constexpr std::chrono::seconds kPatienceInVain{3};

/// Ended, though not waited for.
void awaitDeath(pid_t process) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
}

bool isOfPrivd(Victim victim) {
  return victim != Victim::kPlugind && victim != Victim::kKubelet;
}

/// Of one of privd's processes.
std::string roleOf(Victim victim) {
  return std::string(nameOf(victim)).substr(std::string_view("privd-").size());
}

std::string lastWords(ChildProcess& process) {
  constexpr std::size_t kMostBytes = 5000;
  const std::string said = process.output();
  return said.substr(said.size() - std::min(said.size(), kMostBytes)) + "\n";
}

/// Nobody has waited for it.
bool hasEnded(pid_t child) {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  return waitid(P_PID, static_cast<id_t>(child), &info, options) != 0 || info.si_pid == child;
}

}  // namespace

FaultLane::FaultLane(unsigned seed, Memory memory, Arrangement arrangement)
    : patience_(memory == Memory::kTold ? kPatience : kPatienceInVain),
      arrangement_(arrangement),
      node_({.seed = seed, .answered = [this](const std::string&) { strikeIfArmed(kUnrecorded); }}),
      books_(layOut()),
      random_(seed) {
  node_.kubelet.start();
  if (!node_.startPlugind(kConfig) || !startPrivd()) fail("it does not start");
  for (const auto& resource : kResources) owed_[resource] = 1;
  awaitStreams();
  adopt();
  fail(books_.imbalance(node_.kubelet, patience_));
  if (memory == Memory::kConcealed) node_.kubelet.concealPods();
}

FaultLane::Devices FaultLane::layOut() {
  constexpr unsigned kGroups = 24;
  Devices devices;
  const auto add = [&](const std::string& address, std::uint16_t device, unsigned group) {
    // A NUMA node each, so that a pod can be sent to a device.
    const int node = static_cast<int>(devices.size());
    node_.hardware.add({.address = address, .device = device, .group = group, .numaNode = node});
    devices[address] = {kResources[device == 0x2684 ? 0 : 1], group};
  };
  // Two functions a group, each in a resource of its own: both are Healthy only where it is free.
  for (unsigned i = 0; i < kGroups; ++i) {
    const std::string slot = std::string("0000:") + "123"[i / 16] + "0123456789abcdef"[i % 16];
    add(slot + ":00.0", 0x2684, 7 + i);
    add(slot + ":00.1", 0x2685, 7 + i);
  }
  node_.addMarker();
  return devices;
}

bool FaultLane::carryOut(const Kill& kill) {
  prepare(kill.operation);
  if (!failure_.empty()) return false;
  for (const auto& resource : kResources) {
    const bool ends = kill.operation == Operation::kRegister ||
                      (kill.operation == Operation::kStreamEnd && resource == kResources[0]);
    owed_[resource] = streamsOpened(resource) + (ends ? 1 : 0);
  }
  const bool killed = killIn(kill);
  // A kubelet is not started while its admission still ends.
  if (killed && kill.victim != Victim::kKubelet) bringBack(kill.victim);
  operation_.wait();
  if (killed && kill.victim == Victim::kKubelet) bringBack(kill.victim);
  awaitStreams();
  adopt();
  conclude(kill.operation);
  expectOthersAlive();
  const std::string crash = node_.kubelet.crash();
  if (!crash.empty()) fail("T5: " + crash);
  fail(books_.imbalance(node_.kubelet, patience_));
  return killed;
}

/// By the time that the operation runs plugind may have been killed and be coming back.
void FaultLane::begin(Operation operation) {
  operation_ = std::async(std::launch::async, [this, operation, plugind = node_.plugind->pid()]() {
    operate(operation, plugind);
  });
}

bool FaultLane::killIn(const Kill& kill) {
  if (kill.step != nullptr && kill.step->isAt != nullptr) return killAtCall(kill);
  if (kill.step == nullptr) {
    begin(kill.operation);
    operation_.wait_for(kill.delay);  // the moment itself: nothing is waited for
    strike(kill.victim);
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    struck_ = false;
    armed_ = kill.victim;
    armedAt_ = kill.step->name;
  }
  begin(kill.operation);
  operation_.wait();
  const std::lock_guard lock(mutex_);
  armed_.reset();
  return struck_;
}

bool FaultLane::killAtCall(const Kill& kill) {
  const Watched watched{pidOf("hardware"), pidOf("gate"), node_.plugind->pid()};
  StepSight sight(*kill.step, watched);
  CallStops stops(
      {watched.hardware, watched.gate, watched.plugind},
      [&sight](const SeenCall& call) { return sight.isAt(call); },
      [this, &kill]() { strike(kill.victim); });
  begin(kill.operation);
  const bool reached = stops.await(kStepPatience);
  const std::set<pid_t> gone = stops.end();
  for (auto* process : {&node_.privd, &node_.plugind}) {
    if (*process && gone.contains((*process)->pid())) (*process)->waitedForElsewhere();
  }
  for (auto& [role, process] : roles_) {
    if (gone.contains(process->pid())) process->waitedForElsewhere();
  }
  return reached || stops.acted();
}

/// With a binder, which has nothing to bind here: binder_killed_test kills one that has.
bool FaultLane::startPrivd() {
  if (!isApart()) return node_.startPrivd({"--plugind-rights", "watch,kubelet,bind"});
  for (auto& [role, process] : roles_) process.reset();
  return std::ranges::all_of(SplitNode::kRoles,
                             [this](const std::string& role) { return startRole(role); });
}

bool FaultLane::startRole(const std::string& role) {
  auto& process = roles_[role];
  process.emplace(node_.roleCommand(role, node_.hardware.sysfs(), node_.hardware.dev()),
                  filteredEnvironment());
  return process->says("event=plugind_connected");
}

pid_t FaultLane::pidOf(const std::string& role) const {
  return isApart() ? roles_.at(role)->pid() : node_.roleOf(role);
}

std::vector<pid_t> FaultLane::processesOf(Victim victim) const {
  switch (victim) {
    case Victim::kHardware:
    case Victim::kGate:
    case Victim::kBinder:
      return {pidOf(roleOf(victim))};
    case Victim::kPrivd:
      if (isApart()) return {pidOf("hardware"), pidOf("gate"), pidOf("binder")};
      return {node_.privd->pid()};
    case Victim::kPlugind:
      return {node_.plugind->pid()};
    case Victim::kKubelet:
      break;
  }
  return {};
}

std::vector<pid_t> FaultLane::endingWith(Victim victim) const {
  return processesOf(isOfPrivd(victim) && !isApart() ? Victim::kPrivd : victim);
}

void FaultLane::strike(Victim victim) {
  if (victim == Victim::kKubelet) {
    const std::lock_guard lock(kubeletStarts_);
    node_.kubelet.stop();
  }
  for (const pid_t process : processesOf(victim)) {
    if (process > 0) ::kill(process, SIGKILL);
  }
}

void FaultLane::expectOthersAlive() {
  for (const auto& [role, process] : roles_) {
    if (hasEnded(process->pid())) fail("live: " + role + " ended unasked");
  }
}

void FaultLane::strikeIfArmed(const std::string& at) {
  const std::lock_guard lock(mutex_);
  if (!armed_ || armedAt_ != at || struck_) return;
  struck_ = true;
  const std::vector<pid_t> ending = endingWith(*armed_);
  strike(*armed_);
  std::ranges::for_each(ending, awaitDeath);
}

void FaultLane::bringBack(Victim victim) {
  bool back = true;
  switch (victim) {
    case Victim::kHardware:
    case Victim::kGate:
    case Victim::kBinder:
      if (isApart()) {
        back = startRole(roleOf(victim));
        break;
      }
      node_.privd->wait();  // it ends by itself
      [[fallthrough]];
    case Victim::kPrivd:
      node_.killPrivd();
      back = startPrivd();
      break;
    case Victim::kPlugind:
      node_.killPlugind();
      back = node_.startPlugind(kConfig);
      for (const auto& resource : kResources) owed_[resource] = 1;
      adopted_ = false;
      break;
    case Victim::kKubelet:
      for (const auto& resource : kResources) owed_[resource] = streamsOpened(resource) + 1;
      node_.kubelet.start();
      books_.kubeletRestarted();
      break;
  }
  if (!back) fail(std::string(nameOf(victim)) + " does not come back");
}

std::size_t FaultLane::streamsOpened(const std::string& resource) {
  return node_.plugind->count("event=stream_opened resource=" + resource);
}

void FaultLane::awaitStreams() {
  for (const auto& [resource, count] : owed_) {
    if (count == 0) continue;
    const bool opened = node_.plugind->saysAll({"event=stream_opened resource=" + resource}, count);
    if (!opened) fail("live: no stream of " + resource + " after a kill");
  }
}

/// The first Allocate of a plugind makes a reconcile in the call: this is that one, and asks for
/// what is not there.
void FaultLane::adopt() {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!adopted_ && failure_.empty() && std::chrono::steady_clock::now() < until) {
    std::string error;
    node_.kubelet.offer(kResources[0], {"0000:ff:00.0"}, error);
    adopted_ = node_.plugind->count("ledger-adopted") > 0;
  }
  if (!adopted_) fail("live: the ledger is not adopted");
}

std::string FaultLane::said() {
  std::string all;
  for (auto* process : {&node_.privd, &node_.plugind}) {
    if (*process) all += lastWords(**process);
  }
  for (auto& [role, process] : roles_) all += lastWords(*process);
  return all;
}

}  // namespace vfiogate::test
