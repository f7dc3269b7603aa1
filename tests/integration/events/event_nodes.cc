#include "tests/integration/events/event_nodes.h"

#include "sim/base/process_status.h"
#include "tests/support/seen/source_file.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace vfiogate::test {
namespace {

/// What sends no event is seen by the next sweep, which rests the longer the slower the last was.
constexpr std::chrono::minutes kForASweep{10};

/// An id that left a frame stays for 60 s, and one that left comes back 10 s later.
constexpr std::chrono::seconds kSettled{100};
constexpr std::chrono::seconds kNever{3600};

const char* nameOf(Delivery delivery) {
  switch (delivery) {
    case Delivery::kAsIs:
      return "as is";
    case Delivery::kDropped:
      return "dropped";
    case Delivery::kThrice:
      return "thrice";
  }
  return "";
}

const char* ueventsOf(Delivery delivery) {
  switch (delivery) {
    case Delivery::kAsIs:
      return "on";
    case Delivery::kDropped:
      return "off";
    case Delivery::kThrice:
      return "thrice";
  }
  return "";
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: run by ctest");
  return value;
}

ShownFrame shownOf(const sim::DeviceTable& devices) {
  ShownFrame frame;
  for (const std::string& id : devices.unhealthy()) frame[id] = false;
  for (const std::string& id : devices.healthy()) frame[id] = true;
  return frame;
}

Upkeep upkeepOf(pid_t pid) {
  if (pid == 0) return {};
  Upkeep upkeep{openDescriptors(pid).size(), 0};
  const auto threads = threadStatuses(pid);
  const auto process = threads.find(pid);
  if (process == threads.end()) return upkeep;
  upkeep.kilobytes = std::stoul(process->second.at("VmRSS"));
  return upkeep;
}

}  // namespace

std::string inWords(const ShownFrames& frames) {
  std::string text;
  for (const auto& [resource, frame] : frames) {
    text += resource + ":";
    for (const auto& [id, healthy] : frame)
      text += " " + id + (healthy ? " Healthy" : " Unhealthy");
    text += "\n";
  }
  return text;
}

EventNode::EventNode(Delivery delivery, const std::string& topology, const std::string& config,
                     unsigned seed)
    : name_(nameOf(delivery)) {
  chmod(directory_.path().c_str(), 0755);
  std::ofstream(directory_ / "config.yaml") << config;
  sim::NodeOptions options;
  options.directory = directory_ / "node";
  options.programs = variable("VFIOGATE_BIN");
  options.topology = variable("VFIOGATE_SOURCE") + "/tests/topologies/" + topology;
  options.config = directory_ / "config.yaml";
  options.patience = kSettled;
  options.uevents = ueventsOf(delivery);
  options.seed = seed;
  options.rescan = delivery == Delivery::kDropped ? std::chrono::seconds(1) : kNever;
  auto started = sim::Node::start(options);
  if (!started) throw std::runtime_error(started.error());
  node_ = std::move(started).value();
}

std::string EventNode::run(const std::string& pod, const std::string& resource) {
  const auto admission = kubelet().admit(
      {.uid = pod, .initContainers = {}, .containers = {{"compute", {{resource, 1}}}}});
  if (!admission.admitted || admission.granted.empty()) return "";
  const bool started = kubelet().startContainer(pod, "compute").started;
  return started ? admission.granted.front().ids.front() : "";
}

ShownFrames EventNode::frames() {
  ShownFrames frames;
  for (const std::string& resource : kubelet().resources()) {
    const ShownFrame frame = shownOf(kubelet().devices(resource));
    if (!frame.empty()) frames[resource] = frame;
  }
  return frames;
}

ShownFrame EventNode::await(const std::string& resource,
                            const std::function<bool(const ShownFrame&)>& holds) {
  ShownFrame last;
  const auto shows = [&](const sim::DeviceTable& devices) {
    last = shownOf(devices);
    return holds(last);
  };
  kubelet().await(resource, shows, kForASweep);
  return last;
}

std::size_t EventNode::streamsLost() {
  std::size_t lost = 0;
  for (const std::string& resource : kubelet().resources()) {
    lost += kubelet().streamsEnded(resource) + kubelet().registrations(resource) - 1;
  }
  return lost;
}

std::map<std::string, Upkeep> EventNode::upkeep() const {
  std::map<std::string, Upkeep> all{{"plugind", upkeepOf(node_->plugind().pid())}};
  for (const char* role : {"privd-gate", "privd-hardware"}) {
    all[role] = upkeepOf(childRunning(node_->privd().pid(), role));
  }
  return all;
}

std::vector<std::unique_ptr<EventNode>> startEventNodes(const std::string& topology,
                                                        const std::string& config, unsigned seed) {
  std::vector<std::unique_ptr<EventNode>> nodes;
  for (const Delivery delivery : {Delivery::kAsIs, Delivery::kDropped, Delivery::kThrice}) {
    // Its own events only: what this thread starts is in the namespace that it is in.
    if (unshare(CLONE_NEWNET) != 0) throw std::runtime_error("no network namespace");
    nodes.push_back(std::make_unique<EventNode>(delivery, topology, config, seed));
  }
  return nodes;
}

}  // namespace vfiogate::test
