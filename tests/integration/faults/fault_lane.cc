// What is killed, and how it comes back.

#include "tests/integration/faults/fault_lane.h"

#include "sim/base/process_status.h"
#include "tests/support/seen/call_stops.h"

#include <sys/wait.h>

#include <csignal>

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

/// It ends with each of its roles, and they with it.
bool isOfPrivd(Victim victim) {
  return victim != Victim::kPlugind && victim != Victim::kKubelet;
}

}  // namespace

FaultLane::FaultLane(unsigned seed, Memory memory)
    : patience_(memory == Memory::kTold ? kPatience : kPatienceInVain),
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
  const Watched watched{node_.roleOf("hardware"), node_.roleOf("gate"), node_.plugind->pid()};
  StepSight sight(*kill.step, watched);
  CallStops stops(
      {watched.hardware, watched.gate, watched.plugind},
      [&sight](const SeenCall& call) { return sight.isAt(call); },
      [this, &kill]() { strike(kill.victim); });
  begin(kill.operation);
  const bool reached = stops.await(kStepPatience);
  const std::set<pid_t> gone = stops.end();
  for (auto* process : {&node_.privd, &node_.plugind}) {
    if (gone.contains((*process)->pid())) (*process)->waitedForElsewhere();
  }
  return reached || stops.acted();
}

/// With a binder, which has nothing to bind here: binder_killed_test kills one that has.
bool FaultLane::startPrivd() {
  return node_.startPrivd({"--plugind-rights", "watch,kubelet,bind"});
}

void FaultLane::killRole(const std::string& role) const {
  if (const pid_t process = node_.roleOf(role); process > 0) ::kill(process, SIGKILL);
}

void FaultLane::strike(Victim victim) {
  switch (victim) {
    case Victim::kPrivd:
      node_.privd->signal(SIGKILL);
      break;
    case Victim::kHardware:
      killRole("hardware");
      break;
    case Victim::kGate:
      killRole("gate");
      break;
    case Victim::kBinder:
      killRole("binder");
      break;
    case Victim::kPlugind:
      node_.plugind->signal(SIGKILL);
      break;
    case Victim::kKubelet: {
      const std::lock_guard lock(kubeletStarts_);
      node_.kubelet.stop();
      break;
    }
  }
}

void FaultLane::strikeIfArmed(const std::string& at) {
  const std::lock_guard lock(mutex_);
  if (!armed_ || armedAt_ != at || struck_) return;
  struck_ = true;
  strike(*armed_);
  if (isOfPrivd(*armed_)) awaitDeath(node_.privd->pid());
  if (*armed_ == Victim::kPlugind) awaitDeath(node_.plugind->pid());
}

void FaultLane::bringBack(Victim victim) {
  bool back = true;
  switch (victim) {
    case Victim::kHardware:
    case Victim::kGate:
    case Victim::kBinder:
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
  return node_.said();
}

}  // namespace vfiogate::test
