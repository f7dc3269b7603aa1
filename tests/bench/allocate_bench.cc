// How long an Allocate takes, next to an empty gRPC call and to the bare read of sysfs, on nodes of
// several sizes at once.
//
// The nodes take turns, call by call, so that whatever else the machine does meets all of them
// alike. Own code, not Google Benchmark: that times one loop after the other and has no
// percentiles of single calls.

#include "tests/bench/bare_server.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/latencies.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace vfiogate::bench {
namespace {

struct Wish {
  std::vector<unsigned> devices = {8, 256, 4096};
  unsigned calls = 500;
  std::string json;
  std::string bare;
};

std::vector<Row> measure(const Wish& wish) {
  std::vector<std::unique_ptr<BenchNode>> nodes;
  for (const unsigned devices : wish.devices) nodes.push_back(std::make_unique<BenchNode>(devices));
  BareServer bare(std::filesystem::read_symlink("/proc/self/exe"));
  std::vector<Row> rows(nodes.size());
  for (unsigned call = 0; call < wish.calls; ++call) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      rows[i].allocate.add(nodes[i]->allocate());
      rows[i].empty.add(nodes[i]->callEmpty());
      rows[i].bare.add(bare.callEmpty());
      rows[i].read.add(nodes[i]->readGroup());
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows[i].devices = nodes[i]->devices();
    rows[i].restarts = nodes[i]->restarts();
  }
  return rows;
}

int run(const Wish& wish) {
  if (geteuid() != 0) giveUp("needs root: privd serves only as root");
  const std::vector<Row> rows = measure(wish);
  printTable(rows, std::cout);
  if (wish.json.empty()) return 0;
  std::ofstream file(wish.json);
  printJson(rows, file);
  file.close();
  if (!file) giveUp(wish.json + " cannot be written");
  return 0;
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  vfiogate::bench::Wish wish;
  CLI::App app("Times Allocate and empty gRPC calls of the programs in VFIOGATE_BIN.");
  app.add_option("--devices", wish.devices, "a node of each size, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  app.add_option("--calls", wish.calls, "of each kind to each node")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--json", wish.json, "also write the figures to this file")->type_name("FILE");
  app.add_option("--serve-bare", wish.bare)->group("");  // how it starts its other half
  CLI11_PARSE(app, argc, argv);
  try {
    return wish.bare.empty() ? vfiogate::bench::run(wish) : vfiogate::bench::serveBare(wish.bare);
  } catch (const std::exception& failure) {
    std::cerr << "allocate_bench: " << failure.what() << "\n";
    return 1;
  }
}
