#pragma once
// Times taken, and what is said about them.

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace vfiogate::bench {

class Latencies {
public:
  void add(std::chrono::nanoseconds took) { taken_.push_back(took); }
  void add(const std::vector<std::chrono::nanoseconds>& took) {
    taken_.insert(taken_.end(), took.begin(), took.end());
  }
  std::size_t count() const { return taken_.size(); }

  /// Microseconds that `share` (0 to 1) of the calls did not exceed.
  double percentile(double share) const;
  double median() const { return percentile(0.5); }
  double p99() const { return percentile(0.99); }

private:
  std::vector<std::chrono::nanoseconds> taken_;
};

/// Microseconds.
nlohmann::json toJson(const Latencies& latencies);

/// What was measured on one node.
struct Row {
  unsigned devices = 0;
  unsigned perCall = 1;         ///< devices of each Allocate
  unsigned restarts = 0;        ///< of plugind, to have its devices back
  double refusedPerSecond = 0;  ///< calls beside these; 0: none
  Latencies allocate;
  Latencies refused;    ///< an Allocate that is answered by an error
  Latencies empty;      ///< an empty call to the same plugind
  Latencies bare;       ///< an empty call to a server with nothing behind it
  Latencies relayed;    ///< the same, which asks two processes more, one after the other
  Latencies read;       ///< reading one group from sysfs, no call at all
  Latencies preferred;  ///< a GetPreferredAllocation of 8 out of all
  Latencies peer;       ///< an Allocate of the peer's; none where none was named
  Latencies peerEmpty;  ///< an empty call to the peer
};

void printTable(const std::vector<Row>& rows, std::ostream& out);
/// The same as JSON: microseconds.
void printJson(const std::vector<Row>& rows, std::ostream& out);

}  // namespace vfiogate::bench
