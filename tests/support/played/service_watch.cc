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
constexpr const char* kApplied = "event=exclusions ";
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

}  // namespace

ServiceWatch::ServiceWatch(ChildProcess& privd, const fs::path& stateDirectory)
    : privd_(privd), gate_(gateOf(privd.pid())), exclusion_(stateDirectory / "holds" / kNoDevice) {
  for (int i = 0; i < 2; ++i) changeAndWait();  // what a first change costs
  waits_.clear();
  seen_.daemon.before = seen_.daemon.peak = atRest(privd_.pid());
  seen_.gate.before = seen_.gate.peak = atRest(gate_);
  thread_ = std::thread([this] { watch(); });
}

ServiceWatch::~ServiceWatch() {
  if (thread_.joinable()) end();
}

ServiceWatch::Seen ServiceWatch::end() {
  ending_ = true;
  thread_.join();
  do {
    changeAndWait();
  } while (fs::exists(exclusion_));
  seen_.daemon.after = atRest(privd_.pid());
  seen_.gate.after = atRest(gate_);
  std::ranges::sort(waits_);
  seen_.medianMs = waits_[waits_.size() / 2];
  seen_.longestMs = waits_.back();
  return seen_;
}

void ServiceWatch::watch() {
  do {
    const bool close = waits_.size() < kCloseChanges;
    const auto next = Clock::now() + (close ? kBetweenCloseChanges : kBetweenChanges);
    changeAndWait();
    while (!ending_ && Clock::now() < next) {
      std::this_thread::sleep_for(kBetweenSamples);
      measure();
    }
  } while (!ending_);
}

void ServiceWatch::changeAndWait() {
  const std::size_t before = privd_.count(kApplied);
  const auto began = Clock::now();
  change();
  const auto applied = [&] { return privd_.count(kApplied) > before; };
  while (!applied() && Clock::now() < began + kLongestWait) {
    std::this_thread::sleep_for(kBetweenSamples);
    measure();
  }
  if (!applied()) ++seen_.notServed;
  const std::chrono::duration<double, std::milli> waited = Clock::now() - began;
  waits_.push_back(waited.count());
}

void ServiceWatch::change() {
  if (fs::remove(exclusion_)) return;
  const fs::path made = exclusion_.parent_path() / (std::string(".") + kNoDevice);
  std::ofstream(made) << "since=0\nreason=watched\n";
  fs::rename(made, exclusion_);
}

void ServiceWatch::measure() {
  const auto add = [](Sizes& sizes, const ProcessSize& now) {
    sizes.peak.residentKib = std::max(sizes.peak.residentKib, now.residentKib);
    sizes.peak.descriptors = std::max(sizes.peak.descriptors, now.descriptors);
  };
  add(seen_.daemon, sizeOf(privd_.pid()));
  add(seen_.gate, sizeOf(gate_));
}

pid_t gateOf(pid_t privd) {
  for (const pid_t child : childrenOf(privd)) {
    std::ifstream name("/proc/" + std::to_string(child) + "/comm");
    std::string said;
    if (std::getline(name, said) && said == "privd-gate") return child;
  }
  throw std::runtime_error("privd has no gate");
}

bool servesOthers(ChildProcess& privd, const fs::path& stateDirectory) {
  return ServiceWatch(privd, stateDirectory).end().notServed == 0;
}

}  // namespace vfiogate::test
