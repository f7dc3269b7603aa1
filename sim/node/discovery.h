#pragma once
// Hardware that comes and goes in the virtual machine: what the steps share. The devices are named
// as in tests/machine/machine.sh, the resources are those of tests/machine/guest/discovery.yaml.

#include "sim/node/held_card.h"
#include "sim/node/kernel_events.h"
#include "sim/node/news.h"

#include <memory>
#include <string>
#include <vector>

namespace vfiogate::sim {

constexpr const char* kNetwork = "vfiogate.dev/network";

/// What the steps know of each other.
struct Discovery {
  KernelEvents events;
  std::string alone = addressOf("alone");
  std::string left = addressOf("left");
  std::string right = addressOf("right");  ///< in left's group, stands behind it
  std::string display = addressOf("display");
  std::string storage = addressOf("storage");
  std::string late;  ///< once it was plugged
  std::unique_ptr<HeldCard> held;
  std::string processes;

  Wanted aloneIs(bool healthy) const {
    return healthy ? exactly(kNetwork, {alone, left}) : exactly(kNetwork, {left}, {alone});
  }
};

using DiscoveryAct = Seen (*)(Node&, bool broken, Discovery&);

inline TourStep discoveryStep(const std::shared_ptr<Discovery>& known, const char* name,
                              const char* title, DiscoveryAct act) {
  return {name, title, [known, act](Node& node, bool broken) { return act(node, broken, *known); }};
}

/// The host plugs a card of a new model in and takes it away, also while a pod has it open.
std::vector<TourStep> hotPlugSteps(const std::shared_ptr<Discovery>& known);

}  // namespace vfiogate::sim
