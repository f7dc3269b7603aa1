#pragma once
// What hardware does, row by row, and the frame that follows: the same however the kernel's events
// arrive, as they are, three times out of order or not at all.

#include "tests/integration/events/event_nodes.h"

#include <memory>
#include <vector>

namespace vfiogate::test {

/// Its own nodes, which live with it. What is not as it must be fails the running test.
class EventSequences {
public:
  explicit EventSequences(unsigned seed);

  /// Every row's events, and the frames soon after each.
  void play();
  /// The frames when nothing is in its last 60 s any more.
  void settle();

private:
  std::vector<std::unique_ptr<EventNode>> nodes_;
};

}  // namespace vfiogate::test
