#pragma once
// A guided tour of a node: what vfiogate does, step by step, each shown with what was observed; and
// what must be the same at its end as at its beginning.

#include "sim/node/node.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// What a step saw. `text`: the frame or value; of a step that was not seen, what was there
/// instead.
struct Seen {
  bool seen = false;
  std::string text;
};

struct TourStep {
  std::string name;   ///< as in VFIOGATE_TRY_BREAK
  std::string title;  ///< what happens, for people
  /// Brings it about and watches. `broken`: leaves out what brings it about, and so must not see
  /// it.
  std::function<Seen(Node&, bool broken)> act;
  bool spoils = false;  ///< broken it cannot be mended
};

/// On simulated hardware as in tests/topologies/try.yaml.
std::vector<TourStep> simulatedTour();
/// In the virtual machine of tests/machine, with its real hardware.
std::vector<TourStep> machineTour();
/// There, too: hardware that comes and goes while streams are open.
std::vector<TourStep> discoveryTour();

struct GuideOptions {
  std::string broken;     ///< the step to break, and to end with
  bool rehearse = false;  ///< each step is also gone through broken, and must not be seen then
  bool colour = false;    ///< for a terminal
};

/// Goes through the steps and prints a line for each; stops at the first that was not seen, or was
/// though broken. Returns the exit status: 1 names the step on `out`.
int guide(Node& node, const std::vector<TourStep>& steps, const GuideOptions& options,
          std::ostream& out);

/// Of both daemons: the pid and when it began, or what became of it.
std::string processesOf(Node& node);

/// Seen: each resource registered once, and its one stream goes on. Broken: the kubelet hangs up.
Seen sameStreams(Node& node, bool broken, const std::string& hangUpOn);

/// Seen: the processes are still `before`. Broken: privd is restarted.
Seen sameProcesses(Node& node, bool broken, const std::string& before);

/// Two cards of one group, each the only one that its resource shows.
struct SharedGroup {
  std::string resource;  ///< of which a pod gets the card
  std::string card;
  std::string otherResource;
  std::string sibling;
};

/// The virtual machine: opens the card's group and device, and closes both. Each returns why not;
/// empty: it did.
struct CardUser {
  std::function<std::string(Node&, const std::string& address)> open;
  std::function<std::string(Node&)> close;
};

/// `group`: asked when the steps begin.
std::vector<TourStep> allocationSteps(const std::function<SharedGroup()>& group,
                                      const CardUser& user);

}  // namespace vfiogate::sim
