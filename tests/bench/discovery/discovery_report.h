#pragma once
// What discovery_bench says about a node.

#include "tests/bench/discovery/discovery_node.h"
#include "tests/bench/latencies.h"

#include <ostream>
#include <vector>

namespace vfiogate::bench {

struct DiscoveryRow {
  unsigned devices = 0;
  unsigned burstSize = 0;
  Latencies made;       ///< single changes: writing them
  Latencies shown;      ///< until the frame
  Latencies heard;      ///< until a bare loop has received the same events
  Latencies burstMade;  ///< bursts, the same
  Latencies burstShown;
  Latencies burstHeard;
  std::vector<unsigned> burstFrames;
  std::size_t residentBefore = 0;  ///< of plugind, KiB, before the bursts
  std::size_t residentAfter = 0;
  SweepCounts sweeps;  ///< of privd
  Latencies bare;      ///< reading the same files

  /// Microseconds for a device.
  double sweepCost() const;
  double bareCost() const;
};

void printTable(const std::vector<DiscoveryRow>& rows, std::ostream& out);
/// The same as JSON: microseconds.
void printJson(const std::vector<DiscoveryRow>& rows, std::ostream& out);

}  // namespace vfiogate::bench
