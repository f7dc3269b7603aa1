#pragma once
// What restart_bench says about a node.

#include "tests/bench/latencies.h"

#include <ostream>
#include <vector>

namespace vfiogate::bench {

struct RestartRow {
  unsigned devices = 0;
  Latencies kubelet;       ///< from the creation of kubelet.sock to the frame with every device
  Latencies plugind;       ///< from plugind's start, privd running, to that frame
  Latencies all;           ///< from the start of all processes
  Latencies peersKubelet;  ///< the first for the peer; none where none was named
  Latencies peer;          ///< from the peer's start
};

void printTable(const std::vector<RestartRow>& rows, std::ostream& out);
/// The same as JSON: microseconds.
void printJson(const std::vector<RestartRow>& rows, std::ostream& out);

}  // namespace vfiogate::bench
