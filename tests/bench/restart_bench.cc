// How soon a kubelet that restarts, or a plugind that does, has every device again, on nodes of
// several sizes. The nodes take turns, as in allocate_bench.

#include "tests/bench/bench_command.h"
#include "tests/bench/frame_watch.h"
#include "tests/bench/name_clock.h"
#include "tests/bench/own_place.h"
#include "tests/bench/peer_node.h"
#include "tests/bench/restart_report.h"

#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::bench {
namespace {

struct Wish {
  CommonWish common{.devices = {8, 256}, .json = {}};
  unsigned kubelets = 100;
  unsigned pluginds = 30;
  std::string peer;
};

/// A node whose frames are listened to, of ours or of a peer's.
template <typename Node>
class Watched {
public:
  /// `plugin`: the peer's program; none where the programs are ours.
  template <typename... Plugin>
  explicit Watched(unsigned devices, const Plugin&... plugin)
      : node_(devices, plugin...,
              sim::KubeletOptions{.heard = [this](const auto& frame) { frames_.heard(frame); }}) {}

  Took restartKubelet() {
    node_.kubelet().stop();
    NameClock clock(node_.kubeletDirectory() + "/device-plugins", "kubelet.sock");
    auto made = std::async(std::launch::async, [&clock]() { return clock.await(); });
    expectAll();
    node_.kubelet().start();
    const auto shown = frames_.await().at;
    return shown - made.get();
  }

  Took from(const std::function<void(Node&)>& stop, const std::function<void(Node&)>& start) {
    stop(node_);
    expectAll();
    const auto began = Clock::now();
    start(node_);
    return frames_.await().at - began;
  }

private:
  void expectAll() {
    std::vector<std::string> ids;
    for (unsigned i = 0; i < node_.devices(); ++i) ids.push_back(addressOf(i));
    frames_.expect(std::move(ids), true);
  }

  FrameWatch frames_;
  Node node_;
};

void run(const Wish& wish) {
  const OwnPlace place;
  std::vector<std::unique_ptr<Watched<NodeUnderTest>>> nodes;
  std::vector<std::unique_ptr<Watched<PeerNode>>> peers;
  std::vector<RestartRow> rows;
  for (const unsigned devices : wish.common.devices) {
    nodes.push_back(std::make_unique<Watched<NodeUnderTest>>(devices));
    if (!wish.peer.empty()) {
      peers.push_back(std::make_unique<Watched<PeerNode>>(devices, wish.peer));
    }
    rows.emplace_back().devices = devices;
  }
  for (unsigned time = 0; time < wish.kubelets; ++time) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      rows[i].kubelet.add(nodes[i]->restartKubelet());
      if (!peers.empty()) rows[i].peersKubelet.add(peers[i]->restartKubelet());
    }
  }
  for (unsigned time = 0; time < wish.pluginds; ++time) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      rows[i].plugind.add(
          nodes[i]->from(&NodeUnderTest::stopPlugind, &NodeUnderTest::restartPlugind));
      rows[i].all.add(nodes[i]->from(&NodeUnderTest::stopAll, &NodeUnderTest::startAll));
      if (!peers.empty()) rows[i].peer.add(peers[i]->from(&PeerNode::stop, &PeerNode::start));
    }
  }
  printTable(rows, std::cout);
  writeJson(wish.common.json, [&rows](std::ostream& out) { printJson(rows, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app("Times what restarts cost the programs in VFIOGATE_BIN.");
  bench::addCommonOptions(app, wish.common);
  bench::addCount(app, "--kubelets", wish.kubelets, 100'000, "restarts of each node's kubelet");
  bench::addCount(app, "--pluginds", wish.pluginds, 100'000,
                  "restarts of each node's plugind, and of all processes");
  app.add_option("--peer", wish.peer, "NVIDIA's plugin for KubeVirt, restarted in the same run")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  return bench::runBench("restart_bench", [&wish]() { bench::run(wish); });
}
