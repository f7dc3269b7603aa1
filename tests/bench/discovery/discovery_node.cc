#include "tests/bench/discovery/discovery_node.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <sstream>
#include <thread>

namespace vfiogate::bench {
namespace {

/// One below what is borne (ADR 8), as plugind counts a little later than we do.
constexpr std::size_t kMostChanges = 9;
constexpr std::chrono::seconds kChangeWindow{61};
constexpr unsigned kInTurn = 32;
constexpr unsigned kBurst = 256;
/// Between two questions whether a sweep has ended; asking costs the node's processors.
constexpr std::chrono::milliseconds kAskPause{50};

sim::UeventInjector openInNewNamespace() {
  if (unshare(CLONE_NEWNET) != 0) giveUp("no network namespace of its own");
  auto events = sim::UeventInjector::open();
  if (!events) giveUp(events.error());
  return std::move(events).value();
}

/// What the kernel sends when the device is bound to vfio-pci, or unbound from it.
std::vector<sim::Uevent> eventsOf(unsigned number, bool bound) {
  const std::string place = "/devices/pci0000:00/" + addressOf(number);
  const std::string group = "/devices/virtual/vfio/" + std::to_string(number);
  // The number of its directory there differs each time and tells privd nothing.
  const std::string vfio = place + "/vfio-dev/vfio" + std::to_string(number);
  if (bound) {
    return {{"add", group, "vfio", {}}, {"add", vfio, "vfio-dev", {}}, {"bind", place, "pci", {}}};
  }
  return {{"remove", vfio, "vfio-dev", {}},
          {"remove", group, "vfio", {}},
          {"unbind", place, "pci", {}}};
}

std::optional<double> valueOf(const std::string& metrics, const std::string& name) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

DiscoveryNode::DiscoveryNode(unsigned devices)
    : elsewhere_(openInNewNamespace()),
      listener_(elsewhere_),
      events_(openInNewNamespace()),
      node_(devices, {.heard = [this](const auto& frame) { frames_.heard(frame); }}),
      bare_(node_.hardware().sysfs(), node_.hardware().dev()),
      bound_(devices, true),
      changes_(devices) {}

Change DiscoveryNode::changeOne() {
  const unsigned inTurn = std::min(kInTurn, devices());
  const unsigned number = ones_++ % inTurn * (devices() / inTurn);
  return change({number}, !bound_[number]);
}

unsigned DiscoveryNode::burstSize() const {
  return std::min(kBurst, devices());
}

Change DiscoveryNode::changeMany() {
  std::vector<unsigned> numbers(burstSize());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<unsigned> other;
  const bool bound = !bound_.front();
  std::ranges::copy_if(numbers, std::back_inserter(other),
                       [&](unsigned number) { return bound_[number] == bound; });
  if (!other.empty()) change(other, !bound);  // left so by single changes
  return change(numbers, bound);
}

Change DiscoveryNode::change(const std::vector<unsigned>& numbers, bool bound) {
  std::vector<std::string> ids;
  std::vector<sim::Uevent> events;
  for (const unsigned number : numbers) {
    awaitSteady(number);
    ids.push_back(addressOf(number));
    std::ranges::move(eventsOf(number, bound), std::back_inserter(events));
  }
  const Took heard = listener_.hear(events);
  frames_.expect(std::move(ids), bound);
  const auto began = Clock::now();
  for (const unsigned number : numbers) rebind(number, bound);
  const auto made = Clock::now();
  const FrameWatch::Seen seen = frames_.await();
  return {made - began, seen.at - began, seen.frames, heard};
}

void DiscoveryNode::awaitSteady(unsigned number) {
  auto& changes = changes_[number];
  if (changes.size() >= kMostChanges) {
    std::this_thread::sleep_until(changes.front() + kChangeWindow);
    changes.pop_front();
  }
  changes.push_back(Clock::now());
}

void DiscoveryNode::rebind(unsigned number, bool bound) {
  node_.hardware().setDriver(addressOf(number), bound ? "vfio-pci" : "");
  bound_[number] = bound;
  for (const sim::Uevent& event : eventsOf(number, bound)) send(event);
}

void DiscoveryNode::send(const sim::Uevent& event) {
  if (events_.inject(event) != 0) giveUp("an event is not sent");
}

void DiscoveryNode::sweep() {
  const std::uint64_t before = sweepCounts().sweeps;
  send({"change", "/devices/pci0000:00", "pci", {}});  // no function of it: anywhere
  const auto limit = Clock::now() + test::kPatience;
  while (sweepCounts().sweeps == before) {
    if (Clock::now() > limit) giveUp("privd does not sweep");
    std::this_thread::sleep_for(kAskPause);
  }
}

SweepCounts DiscoveryNode::sweepCounts() {
  // plugind leaves out what privd does not tell within a short time.
  const auto limit = Clock::now() + test::kPatience;
  while (Clock::now() < limit) {
    test::ChildProcess asked({test::builtProgram("plugind"), "--listen", node_.plugindSocket(),
                              "status", "-o", "metrics", "--timeout", "30000"});
    const std::string metrics = asked.outputWhole();
    const auto sweeps = valueOf(metrics, "vfiogate_hardware_rereads_total{kind=\"sweep\"}");
    const auto seconds = valueOf(metrics, "vfiogate_hardware_sweep_seconds_total");
    if (sweeps && seconds) return {static_cast<std::uint64_t>(*sweeps), *seconds};
  }
  giveUp("plugind does not tell how often privd looked");
}

Took DiscoveryNode::readBare() {
  const auto began = Clock::now();
  for (unsigned i = 0; i < devices(); ++i) bare_.device(addressOf(i), i);
  return Clock::now() - began;
}

}  // namespace vfiogate::bench
