#include "tests/bench/restart_report.h"

#include <array>
#include <iomanip>
#include <string>

namespace vfiogate::bench {
namespace {

struct Kind {
  const char* key;
  const char* name;
  Latencies RestartRow::*figures;
};
constexpr std::array kKinds = {
    Kind{"kubelet", "kubelet.sock is made", &RestartRow::kubelet},
    Kind{"peersKubelet", "the same, the peer", &RestartRow::peersKubelet},
    Kind{"plugind", "plugind starts", &RestartRow::plugind},
    Kind{"all", "all processes start", &RestartRow::all},
    Kind{"peer", "the peer starts", &RestartRow::peer},
};

}  // namespace

void printTable(const std::vector<RestartRow>& rows, std::ostream& out) {
  for (const RestartRow& row : rows) {
    out << std::left << std::setw(54)
        << std::to_string(row.devices) + " devices, milliseconds to the first whole frame"
        << std::right << "   times     p50     p99     max\n";
    for (const Kind& kind : kKinds) {
      const Latencies& each = row.*kind.figures;
      if (each.count() == 0) continue;
      out << "  " << std::left << std::setw(52) << kind.name << std::right << std::fixed
          << std::setprecision(1) << std::setw(8) << each.count();
      for (const double share : {0.5, 0.99, 1.0}) {
        out << std::setw(8) << each.percentile(share) / 1000;
      }
      out << "\n";
    }
  }
}

void printJson(const std::vector<RestartRow>& rows, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const RestartRow& row : rows) {
    nlohmann::json one{{"devices", row.devices}};
    for (const Kind& kind : kKinds) one[kind.key] = toJson(row.*kind.figures);
    all.push_back(std::move(one));
  }
  out << all.dump(2) << "\n";
}

}  // namespace vfiogate::bench
