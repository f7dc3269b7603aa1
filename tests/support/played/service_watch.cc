#include "tests/support/played/service_watch.h"

#include "sim/base/process_status.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestWait{20};
constexpr std::chrono::milliseconds kBetweenSamples{2};
/// privd may say so 256 times at once, and ten times a second for long: an attack that is soon over
/// is watched closely, in each of a few tries.
constexpr std::size_t kCloseChanges = 50;
constexpr std::chrono::milliseconds kBetweenCloseChanges{10};
constexpr std::chrono::milliseconds kBetweenChanges{100};
constexpr const char* kApplied = "event=exclusions devices=";
constexpr const char* kNoDevice = "0000:fe:1f.7";

/// With as few descriptors as it comes to have: what was opened for an attack is closed a moment
/// later.
ProcessSize atRest(pid_t pid) {
  ProcessSize least = sizeOf(pid);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const ProcessSize now = sizeOf(pid);
    if (now.descriptors <= least.descriptors) least = now;
  }
  return least;
}

/// Of the roles that `privd` has started.
std::map<std::string, pid_t> rolesOf(ChildProcess& privd) {
  // One of them may say that it has started before the others do.
  privd.saysAll({"event=started", "role=daemon"});
  std::map<std::string, pid_t> roles;
  for (const char* role : {"hardware", "gate", "binder"}) {
    const pid_t pid = childRunning(privd.pid(), std::string("privd-") + role);
    if (pid > 0) roles.emplace(role, pid);
  }
  return roles;
}

}  // namespace

ServiceWatch::ServiceWatch(ChildProcess& privd, const fs::path& stateDirectory, Applied applied)
    : privd_(privd),
      when_(applied),
      pids_(rolesOf(privd)),
      exclusion_(stateDirectory / "holds" / kNoDevice) {
  if (when_ == Applied::kAlways) {
    for (int i = 0; i < 2; ++i) changeAndWait();  // what a first change costs
    waits_.clear();
  }
  for (const auto& [role, pid] : pids_) {
    Sizes& sizes = seen_.roles[role];
    sizes.before = sizes.peak = atRest(pid);
  }
  thread_ = std::thread([this] { watch(); });
}

ServiceWatch::~ServiceWatch() {
  if (thread_.joinable()) end();
}

ServiceWatch::Seen ServiceWatch::end() {
  ending_ = true;
  thread_.join();
  if (when_ == Applied::kAlways) {
    do {
      changeAndWait();
    } while (fs::exists(exclusion_));
  }
  for (const auto& [role, pid] : pids_) seen_.roles[role].after = atRest(pid);
  std::ranges::sort(waits_);
  seen_.changes = waits_.size();
  if (waits_.empty()) return seen_;
  seen_.medianMs = waits_[waits_.size() / 2];
  seen_.longestMs = waits_.back();
  return seen_;
}

void ServiceWatch::awaitAttack() {
  const auto until = Clock::now() + kLongestWait;
  while (!ending_ && Clock::now() < until) {
    const std::string applies = saidOf(fs::exists(exclusion_) ? 0 : 1);
    const std::size_t before = privd_.count(applies);
    change();
    std::this_thread::sleep_for(kBetweenCloseChanges);
    measure();
    if (privd_.count(applies) > before) return;
  }
  ++seen_.notServed;
}

void ServiceWatch::watch() {
  if (when_ == Applied::kUnderAttack) awaitAttack();
  while (!ending_ || (when_ == Applied::kAlways && waits_.empty())) {
    const bool close = waits_.size() < kCloseChanges;
    const auto next = Clock::now() + (close ? kBetweenCloseChanges : kBetweenChanges);
    changeAndWait();
    while (!ending_ && Clock::now() < next) {
      std::this_thread::sleep_for(kBetweenSamples);
      measure();
    }
  }
}

void ServiceWatch::changeAndWait() {
  const std::string applies = saidOf(fs::exists(exclusion_) ? 0 : 1);
  const std::size_t before = privd_.count(applies);
  const auto began = Clock::now();
  change();
  const auto applied = [&] { return privd_.count(applies) > before; };
  while (!applied() && !isOver() && Clock::now() < began + kLongestWait) {
    std::this_thread::sleep_for(kBetweenSamples);
    measure();
  }
  if (!applied() && !isOver()) ++seen_.notServed;
  const std::chrono::duration<double, std::milli> waited = Clock::now() - began;
  waits_.push_back(waited.count());
}

std::string ServiceWatch::saidOf(int devices) const {
  const char* const by = pids_.contains("binder") ? " role=binder" : " role=gate";
  return kApplied + std::to_string(devices) + by;
}

void ServiceWatch::change() {
  if (fs::remove(exclusion_)) return;
  const fs::path made = exclusion_.parent_path() / (std::string(".") + kNoDevice);
  std::ofstream(made) << "since=0\nreason=watched\n";
  fs::rename(made, exclusion_);
}

void ServiceWatch::measure() {
  for (const auto& [role, pid] : pids_) {
    const ProcessSize now = sizeOf(pid);
    ProcessSize& peak = seen_.roles[role].peak;
    peak.residentKib = std::max(peak.residentKib, now.residentKib);
    peak.descriptors = std::max(peak.descriptors, now.descriptors);
  }
}

bool servesOthers(ChildProcess& privd, const fs::path& stateDirectory) {
  return ServiceWatch(privd, stateDirectory).end().notServed == 0;
}

}  // namespace vfiogate::test
