#include "tests/bench/restart_report.h"

#include <iomanip>

namespace vfiogate::bench {
namespace {

// Milliseconds.
constexpr double kFew = 8;  ///< devices; above that the goal is the other one
constexpr double kGoalOfFew = 5;
constexpr double kGoalOfMany = 15;
constexpr double kGoalOfNearlyAll = 50;
constexpr double kGoalOfStart = 30;  ///< with few devices

double milliseconds(double microseconds) {
  return microseconds / 1000;
}

const char* verdict(bool met) {
  return met ? "met" : "not";
}

bool isQuick(const RestartRow& row) {
  const double goal = row.devices <= kFew ? kGoalOfFew : kGoalOfMany;
  return milliseconds(row.kubelet.median()) < goal &&
         milliseconds(row.kubelet.p99()) < kGoalOfNearlyAll;
}

void printTimes(const Latencies& latencies, std::ostream& out) {
  out << std::setw(7) << latencies.count();
  for (const double share : {0.5, 0.99, 1.0}) {
    out << std::setw(8) << milliseconds(latencies.percentile(share));
  }
}

}  // namespace

void printTable(const std::vector<RestartRow>& rows, std::ostream& out) {
  out << "milliseconds    kubelet.sock -> first whole frame    plugind's start -> first whole "
         "frame\n"
      << "devices  times     p50     p99     max  goal  times     p50     p99     max  goal\n"
      << std::fixed << std::setprecision(1);
  for (const RestartRow& row : rows) {
    out << std::setw(7) << row.devices;
    printTimes(row.kubelet, out);
    out << std::setw(6) << verdict(isQuick(row));
    printTimes(row.plugind, out);
    const bool starts = milliseconds(row.plugind.median()) < kGoalOfStart;
    out << std::setw(6) << (row.devices <= kFew ? verdict(starts) : "none") << "\n";
  }
}

void printJson(const std::vector<RestartRow>& rows, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const RestartRow& row : rows) {
    all.push_back({{"devices", row.devices},
                   {"kubelet", toJson(row.kubelet)},
                   {"plugind", toJson(row.plugind)}});
  }
  out << all.dump(2) << "\n";
}

}  // namespace vfiogate::bench
