#include "sim/node/tour.h"

#include <chrono>
#include <iomanip>
#include <ostream>

namespace vfiogate::sim {
namespace {

constexpr const char* kGreen = "\033[32m";
constexpr const char* kRed = "\033[31m";
constexpr const char* kBold = "\033[1m";
constexpr const char* kPlain = "\033[0m";

/// A broken step is waited for in vain, but not for long.
constexpr std::chrono::seconds kShortPatience{8};

/// True if the step is not seen without what brings it about.
bool rehearse(Node& node, const TourStep& step, std::ostream& out) {
  const Seen result = step.act(node, true);
  if (!result.seen) return true;
  out << "         " << result.text << "\n"
      << "try: step " << step.name << " was seen without what brings it about\n";
  return false;
}

}  // namespace

int guide(Node& node, const std::vector<TourStep>& steps, const GuideOptions& options,
          std::ostream& out) {
  const auto in = [&options](const char* code) { return options.colour ? code : ""; };
  for (const TourStep& step : steps) {
    const bool broken = step.name == options.broken;
    const bool rehearsed = options.rehearse && !broken;
    if (rehearsed && !step.spoils && !rehearse(node, step, out)) return 1;
    if (broken) node.kubelet().setPatience(kShortPatience);
    const auto began = std::chrono::steady_clock::now();
    const Seen result = step.act(node, broken);
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
    if (rehearsed && step.spoils && !rehearse(node, step, out)) return 1;
  }
  if (options.rehearse) out << "each was not seen with what brings it about left out\n";
  out << steps.size() << " of " << steps.size() << " steps seen\n";
  return 0;
}

}  // namespace vfiogate::sim
