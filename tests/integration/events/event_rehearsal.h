#pragma once
// The hardware of the nodes under test once more, in this process: it draws what happens, and says
// what must be shown, from the hardware's state alone.

#include "sim/sysfs/control/control_commands.h"
#include "sim/sysfs/kernel/sim_kernel.h"
#include "tests/integration/events/event_nodes.h"

#include <random>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

/// A command that was given to the simulated kernel.
struct EventAct {
  std::string command;
  std::string answer;     ///< to which each node's must be equal
  bool happened = false;  ///< false: refused
  bool tells = false;     ///< the kernel sent an event
};

class EventRehearsal {
public:
  EventRehearsal(const sim::Topology& topology, unsigned seed);

  /// Something at random. What was refused may have changed something all the same.
  EventAct draw();
  EventAct take(const std::string& command);

  /// Whether everything that somebody started has ended.
  bool quiet() const { return kernel_.waiting().empty(); }
  std::size_t uevents() const { return uevents_; }
  std::string show() const { return sim::show(kernel_); }

  /// The frames of `groupUnit: one` for what is alone in its group and `all` for the rest, once
  /// nothing is in its last 60 s: no representative is chosen, so they depend on what is, and not
  /// on what was seen on the way. `held`: ids that pods have.
  ShownFrames frames(const std::set<std::string>& held) const;
  /// Of what strangers open, and what shares its group: it is judged some seconds later.
  static bool strangersOpen(const std::string& id);

private:
  std::string commandAt(unsigned dice);
  std::string bind();
  std::string plug();
  std::string open();
  std::string close();
  std::string silence();
  std::string renumber();

  unsigned pick(std::size_t count) { return static_cast<unsigned>((random_() >> 4) % count); }
  /// Empty if none of the devices that the kernel knows is like that; never a bridge.
  std::string anyDevice(const std::function<bool(const sim::Device&)>& like);
  bool isHealthy(const sim::Device& device, const std::set<std::string>& held) const;

  std::minstd_rand random_;
  sim::SimKernel kernel_;
  sim::Switches switches_;
  std::size_t uevents_ = 0;
};

}  // namespace vfiogate::test
