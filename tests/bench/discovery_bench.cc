// How long it takes from a change of the hardware to the frame that the kubelet gets, and what a
// look at everything costs, on nodes of several sizes.
//
// The nodes take turns, as in allocate_bench, so that whatever else the machine does meets all of
// them alike; the pauses between two changes let privd take each for a single one.

#include "tests/bench/discovery_node.h"
#include "tests/bench/discovery_report.h"
#include "tests/bench/own_place.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <random>
#include <thread>

namespace vfiogate::bench {
namespace {

struct Wish {
  std::vector<unsigned> devices = {8, 256, 4096};
  unsigned events = 200;
  unsigned bursts = 10;
  unsigned sweeps = 5;
  std::string json;
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
    }
  }
}

void measureBursts(Nodes& nodes, Rows& rows, unsigned bursts) {
  for (unsigned burst = 0; burst < bursts; ++burst) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      pause();
      const Change change = nodes[i]->changeMany();
      rows[i].burstMade.add(change.made);
      rows[i].burstShown.add(change.shown);
      rows[i].burstFrames.push_back(change.frames);
    }
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

int run(const Wish& wish) {
  if (geteuid() != 0) giveUp("needs root: privd serves only as root");
  std::ofstream file;
  if (!wish.json.empty()) file.open(wish.json);
  const OwnPlace place;
  Nodes nodes;
  Rows rows;
  for (const unsigned devices : wish.devices) {
    nodes.push_back(std::make_unique<DiscoveryNode>(devices));
    rows.push_back({.devices = devices, .burstSize = nodes.back()->burstSize()});
  }
  measureSingles(nodes, rows, wish.events);
  measureBursts(nodes, rows, wish.bursts);
  measureSweeps(nodes, rows, wish.sweeps);
  printTable(rows, std::cout);
  if (wish.json.empty()) return 0;
  printJson(rows, file);
  file.close();
  if (!file) giveUp(wish.json + " cannot be written");
  return 0;
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  vfiogate::bench::Wish wish;
  CLI::App app("Times what the programs in VFIOGATE_BIN make of changed hardware.");
  app.add_option("--devices", wish.devices, "a node of each size, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  app.add_option("--events", wish.events, "single changes of each node")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--bursts", wish.bursts, "of up to 256 changes at once, on each node")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--sweeps", wish.sweeps, "looks at everything, on each node")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--json", wish.json, "also write the figures to this file")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  try {
    return vfiogate::bench::run(wish);
  } catch (const std::exception& failure) {
    std::cerr << "discovery_bench: " << failure.what() << "\n";
    return 1;
  }
}
