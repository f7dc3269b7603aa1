// How long it takes from a change of the hardware to the frame that the kubelet gets, and what a
// reading of everything costs, on nodes of several sizes.
//
// The nodes take turns, as in allocate_bench, so that whatever else the machine does meets all of
// them alike; the pauses between two changes let privd take each for a single one.

#include "tests/bench/bench_command.h"
#include "tests/bench/discovery/discovery_node.h"
#include "tests/bench/discovery/discovery_report.h"
#include "tests/bench/own_place.h"

#include <iostream>
#include <memory>
#include <random>
#include <thread>

namespace vfiogate::bench {
namespace {

struct Wish {
  CommonWish common{.devices = {8, 256, 4096}, .json = {}};
  unsigned events = 200;
  unsigned bursts = 10;
  unsigned sweeps = 5;
};

using Nodes = std::vector<std::unique_ptr<DiscoveryNode>>;
using Rows = std::vector<DiscoveryRow>;

/// Long enough for privd to be quiet again, and at no fixed distance to anything it does by time.
void pause() {
  static std::mt19937 random(1);
  std::uniform_int_distribution<int> milliseconds(150, 300);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
}

void measureSingles(Nodes& nodes, Rows& rows, unsigned events) {
  for (unsigned event = 0; event < events; ++event) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      pause();
      const Change change = nodes[i]->changeOne();
      rows[i].made.add(change.made);
      rows[i].shown.add(change.shown);
      rows[i].heard.add(change.heard);
    }
  }
}

void measureBursts(Nodes& nodes, Rows& rows, unsigned bursts) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows[i].residentBefore = nodes[i]->plugindResident();
  }
  for (unsigned burst = 0; burst < bursts; ++burst) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      pause();
      const Change change = nodes[i]->changeMany();
      rows[i].burstMade.add(change.made);
      rows[i].burstShown.add(change.shown);
      rows[i].burstHeard.add(change.heard);
      rows[i].burstFrames.push_back(change.frames);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows[i].residentAfter = nodes[i]->plugindResident();
  }
}

void measureSweeps(Nodes& nodes, Rows& rows, unsigned sweeps) {
  std::vector<SweepCounts> before;
  for (const auto& node : nodes) {
    node->sweep();  // what earlier changes asked for ends with it
    before.push_back(node->sweepCounts());
  }
  for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i]->sweep();
      rows[i].bare.add(nodes[i]->readBare());
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const SweepCounts after = nodes[i]->sweepCounts();
    rows[i].sweeps = {after.sweeps - before[i].sweeps, after.seconds - before[i].seconds};
  }
}

void run(const Wish& wish) {
  const OwnPlace place;
  Nodes nodes;
  Rows rows;
  for (const unsigned devices : wish.common.devices) {
    nodes.push_back(std::make_unique<DiscoveryNode>(devices));
    rows.push_back({.devices = devices, .burstSize = nodes.back()->burstSize()});
  }
  measureSingles(nodes, rows, wish.events);
  measureBursts(nodes, rows, wish.bursts);
  measureSweeps(nodes, rows, wish.sweeps);
  printTable(rows, std::cout);
  writeJson(wish.common.json, [&rows](std::ostream& out) { printJson(rows, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app("Times what the programs in VFIOGATE_BIN make of changed hardware.");
  bench::addCommonOptions(app, wish.common);
  bench::addCount(app, "--events", wish.events, 1'000'000, "single changes of each node");
  bench::addCount(app, "--bursts", wish.bursts, 10'000,
                  "of up to 256 changes at once, on each node");
  bench::addCount(app, "--sweeps", wish.sweeps, 10'000, "readings of everything, on each node");
  CLI11_PARSE(app, argc, argv);
  return bench::runBench("discovery_bench", [&wish]() { bench::run(wish); });
}
