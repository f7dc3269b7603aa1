// How long an Allocate takes, next to an empty gRPC call and to the bare read of sysfs, on nodes of
// several sizes at once.
//
// The nodes take turns, call by call, so that whatever else the machine does meets all of them
// alike. Own code, not Google Benchmark: that times one loop after the other and has no
// percentiles of single calls.

#include "tests/bench/allocate/bench_node.h"
#include "tests/bench/allocate/callers.h"
#include "tests/bench/allocate/refused_calls.h"
#include "tests/bench/bare_server.h"
#include "tests/bench/bench_command.h"
#include "tests/bench/latencies.h"
#include "tests/bench/own_place.h"
#include "tests/bench/peer_node.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

namespace vfiogate::bench {
namespace {

struct Wish {
  CommonWish common{.devices = {8, 256, 4096}, .json = {}};
  unsigned calls = 500;
  unsigned apartMs = 0;
  unsigned refused = 0;
  unsigned callers = 1;
  unsigned perCall = 1;
  std::string bare;
  std::string peer;
};

/// One turn of several callers of one plugin, which may have been started anew since the last.
void measureCallers(const std::string& socket, const std::vector<Devices>& requests,
                    Latencies& allocate, Latencies& empty) {
  Callers callers(socket, static_cast<unsigned>(requests.size()));
  callers.callEmpty();
  for (const PluginClient::Answer& answer : callers.allocate(requests)) {
    if (!answer.status.ok()) giveUp("an Allocate was refused: " + answer.status.error_message());
    allocate.add(answer.took);
  }
  empty.add(callers.callEmpty());
}

/// Only what has callers is measured.
void measureCallers(BenchNode& node, PeerNode* peer, const Wish& wish, Row& row) {
  const std::vector<Devices> requests = node.takeFree(wish.callers);
  measureCallers(node.socket(), requests, row.allocate, row.empty);
  if (peer == nullptr) return;
  std::vector<Devices> peers;
  while (peers.size() < wish.callers) peers.push_back(peer->nextDevices(wish.perCall));
  measureCallers(peer->socket(), peers, row.peer, row.peerEmpty);
}

std::vector<Row> measure(const Wish& wish) {
  // As /run and /sys are on a node.
  const OwnPlace place;
  std::vector<std::unique_ptr<BenchNode>> nodes;
  for (const unsigned devices : wish.common.devices)
    nodes.push_back(std::make_unique<BenchNode>(devices, wish.perCall));
  std::vector<std::unique_ptr<PeerNode>> peers;
  for (const unsigned devices : wish.common.devices) {
    if (!wish.peer.empty()) peers.push_back(std::make_unique<PeerNode>(devices, wish.peer));
  }
  std::vector<std::unique_ptr<RefusedCalls>> refused;
  for (const auto& node : nodes) {
    if (wish.refused == 0) continue;
    refused.push_back(std::make_unique<RefusedCalls>(node->socket(), wish.refused));
  }
  BareServer bare(std::filesystem::read_symlink("/proc/self/exe"));
  std::vector<Row> rows(nodes.size());
  std::mt19937 random(4711);
  std::uniform_int_distribution<unsigned> pause(0, wish.apartMs * 1000);
  for (unsigned call = 0; call < wish.calls; ++call) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (wish.apartMs > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause(random)));
      if (wish.callers > 1) {
        measureCallers(*nodes[i], peers.empty() ? nullptr : peers[i].get(), wish, rows[i]);
        continue;
      }
      rows[i].allocate.add(nodes[i]->allocate());
      rows[i].empty.add(nodes[i]->callEmpty());
      rows[i].bare.add(bare.callEmpty());
      rows[i].relayed.add(bare.callRelayed());
      rows[i].read.add(nodes[i]->readGroup());
      rows[i].preferred.add(nodes[i]->prefer());
      if (peers.empty()) continue;
      rows[i].peer.add(peers[i]->allocate(wish.perCall));
      rows[i].peerEmpty.add(peers[i]->callEmpty());
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows[i].devices = nodes[i]->devices();
    rows[i].perCall = wish.perCall;
    rows[i].restarts = nodes[i]->restarts();
    if (!refused.empty()) rows[i].refusedPerSecond = refused[i]->perSecond();
  }
  return rows;
}

void run(const Wish& wish) {
  const std::vector<Row> rows = measure(wish);
  printTable(rows, std::cout);
  writeJson(wish.common.json, [&rows](std::ostream& out) { printJson(rows, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app("Times Allocate and empty gRPC calls of the programs in VFIOGATE_BIN.");
  bench::addCommonOptions(app, wish.common);
  bench::addCount(app, "--calls", wish.calls, 1'000'000, "of each kind to each node");
  bench::addCount(app, "--apart", wish.apartMs, 60'000,
                  "ms at most, at random, before each Allocate and what is called after it");
  bench::addCount(
      app, "--refused", wish.refused, 64,
      "connections from which each plugind is asked for what it has not, without a pause");
  bench::addCount(app, "--callers", wish.callers, 64,
                  "who ask at the same moment, each on a connection of its own");
  bench::addCount(app, "--per-call", wish.perCall, 64,
                  "devices that each Allocate asks for, each in a group of its own");
  app.add_option("--peer", wish.peer, "NVIDIA's plugin for KubeVirt, asked by the same client")
      ->check(CLI::ExistingFile);
  app.add_option("--serve-bare", wish.bare)->group("");  // how it starts its other half
  CLI11_PARSE(app, argc, argv);
  if (!wish.bare.empty()) return bench::serveBare(wish.bare, bench::Behind::kTwoProcesses);
  return bench::runBench("allocate_bench", [&wish]() { bench::run(wish); });
}
