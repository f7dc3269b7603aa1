#include "tests/support/sim_node/tour.h"

#include <chrono>
#include <iomanip>
#include <ostream>

namespace vfiogate::sim {
namespace {

constexpr const char* kGreen = "\033[32m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kBold = "\033[1m";
constexpr const char* kPlain = "\033[0m";

}  // namespace

int guide(Node& node, const std::vector<TourStep>& steps, const std::string& broken, bool colour,
          std::ostream& out) {
  const auto in = [colour](const char* code) { return colour ? code : ""; };
  for (const TourStep& step : steps) {
    const auto began = std::chrono::steady_clock::now();
    const Seen result = step.act(node, step.name == broken);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    out << in(result.seen ? kGreen : kRed) << (result.seen ? "ok      " : "NOT SEEN") << in(kPlain)
        << " " << in(kBold) << std::left << std::setw(12) << step.name << in(kPlain) << " "
        << step.title << " (" << took.count() << " ms)\n"
        << "         " << result.text << "\n"
        << std::flush;
    if (!result.seen) {
      out << "try: step " << step.name << " was not seen\n";
      return 1;
    }
  }
  out << steps.size() << " of " << steps.size() << " steps seen\n";
  return 0;
}

}  // namespace vfiogate::sim
