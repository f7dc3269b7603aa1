#pragma once
// Thousands of events at random: the same frames in the end however the kernel's events arrive, and
// those that follow from the hardware; no stream ends, nothing grows.

#include "tests/integration/events/event_rehearsal.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Its own nodes, which live with it. What is not as it must be fails the running test.
class EventStorm {
public:
  /// A few events, and what is true after them.
  struct Leg {
    std::vector<EventAct> acts;
    std::size_t happened = 0;  ///< those that were not refused
    ShownFrames frames;
  };

  explicit EventStorm(unsigned seed);

  void rage(std::size_t events);

private:
  /// Every model was there once, and two pods run.
  void begin();
  /// `count` events or more: the last one is told by the kernel, and what is silent (a device that
  /// is opened, or falls silent) is seen with it.
  Leg drawLeg(std::size_t count);
  std::vector<Leg> drawLegs(std::size_t events);
  /// All that somebody began has ended.
  std::vector<EventAct> drawEnd();
  /// To all nodes, one after the other; then whole frames are waited for.
  void giveAll(const std::vector<EventAct>& acts);
  /// For failure texts.
  std::string again(const EventNode& node) const;

  const unsigned seed_;
  EventRehearsal rehearsal_;
  std::set<std::string> held_;
  std::vector<std::unique_ptr<EventNode>> nodes_;
};

}  // namespace vfiogate::test
