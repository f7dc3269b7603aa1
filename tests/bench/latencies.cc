#include "tests/bench/latencies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <string>
#include <utility>

namespace vfiogate::bench {
namespace {

struct Kind {
  const char* key;
  const char* name;
  Latencies Row::*figures;
};
constexpr std::array kKinds = {
    Kind{"allocate", "Allocate of {}", &Row::allocate},
    Kind{"refused", "the same, refused", &Row::refused},
    Kind{"empty", "empty call to the same plugind", &Row::empty},
    Kind{"bare", "empty call to a server with nothing behind it", &Row::bare},
    Kind{"relayed", "the same by way of two processes more", &Row::relayed},
    Kind{"read", "no call: its group read from sysfs", &Row::read},
    Kind{"preferred", "GetPreferredAllocation of 8", &Row::preferred},
    Kind{"peer", "Allocate of {}, the peer", &Row::peer},
    Kind{"peerEmpty", "empty call to the peer", &Row::peerEmpty},
};

/// `name` with the number of devices in the place of {}.
std::string nameFor(const Row& row, std::string name) {
  const auto place = name.find("{}");
  if (place == std::string::npos) return name;
  const std::string unit = row.perCall == 1 ? " device" : " devices";
  return name.replace(place, 2, std::to_string(row.perCall) + unit);
}

}  // namespace

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
  for (const Row& row : rows) {
    out << std::left << std::setw(54)
        << std::to_string(row.devices) + " devices, " + std::to_string(row.allocate.count()) +
               " calls of each, microseconds"
        << std::right << "     p50     p99     max   Allocate's p50 to this\n";
    if (row.refusedPerSecond > 0) {
      out << "  beside " << std::fixed << std::setprecision(0) << row.refusedPerSecond
          << " refused Allocates a second\n";
    }
    for (const Kind& kind : kKinds) {
      const Latencies& each = row.*kind.figures;
      if (each.count() == 0) continue;
      out << "  " << std::left << std::setw(52) << nameFor(row, kind.name) << std::right
          << std::fixed << std::setprecision(0) << std::setw(8) << each.median() << std::setw(8)
          << each.p99() << std::setw(8) << each.percentile(1) << std::setprecision(2)
          << std::setw(8) << row.allocate.median() / each.median() << "\n";
    }
  }
}

void printJson(const std::vector<Row>& rows, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) {
    nlohmann::json one{{"devices", row.devices},
                       {"per_call", row.perCall},
                       {"restarts", row.restarts},
                       {"refused_per_second", row.refusedPerSecond}};
    for (const Kind& kind : kKinds) one[kind.key] = toJson(row.*kind.figures);
    all.push_back(std::move(one));
  }
  out << all.dump(2) << "\n";
}

}  // namespace vfiogate::bench
