#include "tests/bench/latencies.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace vfiogate::bench {

nlohmann::json toJson(const Latencies& latencies) {
  return {{"calls", latencies.count()},
          {"p50_us", latencies.median()},
          {"p99_us", latencies.p99()},
          {"max_us", latencies.percentile(1)}};
}

double Latencies::percentile(double share) const {
  if (taken_.empty()) return 0;
  std::vector<std::chrono::nanoseconds> sorted = taken_;
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto rank = static_cast<std::size_t>(std::ceil(share * last));
  return std::chrono::duration<double, std::micro>(sorted[rank]).count();
}

void printTable(const std::vector<Row>& rows, std::ostream& out) {
  out << "microseconds   Allocate                 empty call               bare server            "
         "  read of sysfs             Allocate / empty\n"
      << "devices  calls     p50     p99     max     p50     p99     max     p50     p99     max   "
         " "
         " p50     p99     max      p50     p99\n"
      << std::fixed;
  for (const Row& row : rows) {
    out << std::setw(7) << row.devices << std::setw(7) << row.allocate.count()
        << std::setprecision(0);
    for (const Latencies* each : {&row.allocate, &row.empty, &row.bare, &row.read}) {
      out << std::setw(8) << each->median() << std::setw(8) << each->p99() << std::setw(8)
          << each->percentile(1);
    }
    out << std::setprecision(2) << std::setw(9) << row.ratio() << std::setw(8)
        << row.allocate.p99() / row.empty.p99() << "\n";
    out << std::setprecision(0) << "   preferred, p50, p99, max" << std::setw(8)
        << row.preferred.median() << std::setw(8) << row.preferred.p99() << std::setw(8)
        << row.preferred.percentile(1) << std::setprecision(2) << "   preferred / empty"
        << std::setw(8) << row.preferred.median() / row.empty.median() << "\n";
    if (row.peer.count() == 0) continue;
    out << std::setprecision(0) << "   peer" << std::setw(7) << row.peer.count();
    for (const Latencies* each : {&row.peer, &row.peerEmpty}) {
      out << std::setw(8) << each->median() << std::setw(8) << each->p99() << std::setw(8)
          << each->percentile(1);
    }
    out << std::setprecision(2) << "   Allocate / peer's" << std::setw(8)
        << row.allocate.median() / row.peer.median() << std::setw(8)
        << row.allocate.p99() / row.peer.p99() << "\n";
  }
}

void printJson(const std::vector<Row>& rows, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) {
    all.push_back({{"devices", row.devices},
                   {"restarts", row.restarts},
                   {"allocate", toJson(row.allocate)},
                   {"empty", toJson(row.empty)},
                   {"bare", toJson(row.bare)},
                   {"read", toJson(row.read)},
                   {"preferred", toJson(row.preferred)},
                   {"peer", toJson(row.peer)},
                   {"peerEmpty", toJson(row.peerEmpty)},
                   {"ratio", row.ratio()}});
  }
  out << all.dump(2) << "\n";
}

}  // namespace vfiogate::bench
