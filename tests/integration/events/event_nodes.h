#pragma once
// Three nodes with the same simulated hardware, the real privd and plugind and a stand-in kubelet
// each; what differs is how the kernel's events reach privd.

#include "sim/base/temp_dir.h"
#include "sim/node/node.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::test {

enum class Delivery : std::uint8_t {
  kAsIs,
  kDropped,  ///< none arrives; privd rereads every second
  kThrice,   ///< each arrives three times, out of order
};

/// One resource's devices as the kubelet was shown them: id to Healthy.
using ShownFrame = std::map<std::string, bool>;
/// By resource; those without devices are left out.
using ShownFrames = std::map<std::string, ShownFrame>;

/// "0000:01:00.0 Healthy, ..." of each resource, for failure texts.
std::string inWords(const ShownFrames& frames);

/// What a program takes of the machine.
struct Upkeep {
  std::size_t descriptors = 0;
  std::size_t kilobytes = 0;  ///< resident
};

class EventNode {
public:
  /// Starts everything. Throws if it does not start. Where events arrive the slow timer is out of
  /// the way: an event that privd misses is not made up for.
  EventNode(Delivery delivery, const std::string& topology, const std::string& config,
            unsigned seed);

  /// "as is", "dropped", "thrice"
  const std::string& name() const { return name_; }

  /// A command of `sim-sysfs ctl`; the answer.
  std::string hardware(const std::string& command) const { return node_->hardware(command); }
  /// A pod of one container runs with one device of the resource: its id, or empty.
  std::string run(const std::string& pod, const std::string& resource);

  ShownFrames frames();
  /// Waits until the kubelet was shown a frame for which `holds`; the last one at the end of that.
  ShownFrame await(const std::string& resource,
                   const std::function<bool(const ShownFrame&)>& holds);

  /// Registrations beyond the first, and ListAndWatch streams that ended; 0 where all is well.
  std::size_t streamsLost();
  /// Each process's, by its program. Of one that has ended: nothing.
  std::map<std::string, Upkeep> upkeep() const;
  /// All that the programs said, for failure texts.
  std::string said() { return node_->privd().output() + node_->plugind().output(); }
  sim::KubeletSim& kubelet() { return node_->kubelet(); }

private:
  const std::string name_;
  TempDir directory_;
  std::unique_ptr<sim::Node> node_;
};

/// One of each delivery, each in a network namespace of its own; the caller is in its own mount
/// namespace.
std::vector<std::unique_ptr<EventNode>> startEventNodes(const std::string& topology,
                                                        const std::string& config, unsigned seed);

}  // namespace vfiogate::test
