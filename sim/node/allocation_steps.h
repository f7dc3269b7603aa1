#pragma once
// The steps of a tour about a group that several cards share: allocated with one of them, and given
// back. The same on simulated hardware and on a real kernel.

#include "sim/node/tour.h"

#include <string>

namespace vfiogate::sim {

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
