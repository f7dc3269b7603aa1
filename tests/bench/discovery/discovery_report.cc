#include "tests/bench/discovery/discovery_report.h"

#include <algorithm>
#include <iomanip>

namespace vfiogate::bench {
namespace {

constexpr double kGoal = 5000;

unsigned mostFrames(const DiscoveryRow& row) {
  return row.burstFrames.empty() ? 0 : std::ranges::max(row.burstFrames);
}

void printChanges(const std::vector<DiscoveryRow>& rows, std::ostream& out) {
  out << "microseconds    write  single change -> frame           its events -> recvmsg  burst -> "
         "frame with all             its events  frames\n"
      << "devices events    p50     p50     p99     max  goal          p50     p99  size times   "
         "write     p50     max         p50 at most\n";
  for (const DiscoveryRow& row : rows) {
    out << std::setw(7) << row.devices << std::setw(7) << row.shown.count() << std::setw(7)
        << row.made.median() << std::setw(8) << row.shown.median() << std::setw(8)
        << row.shown.p99() << std::setw(8) << row.shown.percentile(1) << std::setw(6)
        << (row.shown.p99() < kGoal ? "met" : "not") << std::setw(13) << row.heard.median()
        << std::setw(8) << row.heard.p99() << std::setw(6) << row.burstSize << std::setw(6)
        << row.burstShown.count() << std::setw(8) << row.burstMade.median() << std::setw(8)
        << row.burstShown.median() << std::setw(8) << row.burstShown.percentile(1) << std::setw(12)
        << row.burstHeard.median() << std::setw(8) << mostFrames(row) << "\n";
  }
}

void printSweeps(const std::vector<DiscoveryRow>& rows, std::ostream& out) {
  double least = rows.front().sweepCost();
  double most = least;
  out << "microseconds a device    privd's sweep    bare read    ratio\n";
  for (const DiscoveryRow& row : rows) {
    least = std::min(least, row.sweepCost());
    most = std::max(most, row.sweepCost());
    out << std::setw(7) << row.devices << std::setw(31) << row.sweepCost() << std::setw(13)
        << row.bareCost() << std::setw(9) << row.sweepCost() / row.bareCost() << "\n";
  }
  out << "the dearest device costs " << most / least << " times the cheapest\n";
}

void printResident(const std::vector<DiscoveryRow>& rows, std::ostream& out) {
  out << "plugind resident, KiB, devices: before the bursts, after\n";
  for (const DiscoveryRow& row : rows) {
    out << std::setw(7) << row.devices << std::setw(31) << row.residentBefore << std::setw(13)
        << row.residentAfter << "\n";
  }
}

}  // namespace

double DiscoveryRow::sweepCost() const {
  return sweeps.seconds * 1e6 / static_cast<double>(sweeps.sweeps) / devices;
}

double DiscoveryRow::bareCost() const {
  return bare.median() / devices;
}

void printTable(const std::vector<DiscoveryRow>& rows, std::ostream& out) {
  out << std::fixed << std::setprecision(0);
  printChanges(rows, out);
  out << std::setprecision(1);
  printSweeps(rows, out);
  printResident(rows, out);
}

void printJson(const std::vector<DiscoveryRow>& rows, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const DiscoveryRow& row : rows) {
    all.push_back({{"devices", row.devices},
                   {"burst_size", row.burstSize},
                   {"write", toJson(row.made)},
                   {"shown", toJson(row.shown)},
                   {"heard", toJson(row.heard)},
                   {"burst_write", toJson(row.burstMade)},
                   {"burst_shown", toJson(row.burstShown)},
                   {"burst_heard", toJson(row.burstHeard)},
                   {"burst_frames", row.burstFrames},
                   {"resident_before_kib", row.residentBefore},
                   {"resident_after_kib", row.residentAfter},
                   {"sweeps", row.sweeps.sweeps},
                   {"sweep_us_per_device", row.sweepCost()},
                   {"bare_us_per_device", row.bareCost()}});
  }
  out << all.dump(2) << "\n";
}

}  // namespace vfiogate::bench
