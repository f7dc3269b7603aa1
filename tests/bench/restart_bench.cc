// How soon a kubelet that restarts, or a plugind that does, has every device again, on nodes of
// several sizes. The nodes take turns, as in allocate_bench.

#include "tests/bench/bench_command.h"
#include "tests/bench/frame_watch.h"
#include "tests/bench/name_clock.h"
#include "tests/bench/own_place.h"
#include "tests/bench/restart_report.h"

#include <future>
#include <iostream>
#include <memory>

namespace vfiogate::bench {
namespace {

struct Wish {
  CommonWish common{.devices = {8, 256}, .json = {}};
  unsigned kubelets = 100;
  unsigned pluginds = 30;
};

class RestartNode {
public:
  explicit RestartNode(unsigned devices)
      : node_(devices, "off", {.heard = [this](const auto& frame) { frames_.heard(frame); }}) {}

  unsigned devices() const { return node_.devices(); }

  Took restartKubelet() {
    node_.kubelet().stop();
    NameClock clock(node_.kubeletDirectory() + "/device-plugins", "kubelet.sock");
    auto made = std::async(std::launch::async, [&clock]() { return clock.await(); });
    expectAll();
    node_.kubelet().start();
    const auto shown = frames_.await().at;
    return shown - made.get();
  }
  Took restartPlugind() {
    node_.stopPlugind();
    expectAll();
    const auto began = Clock::now();
    node_.restartPlugind();
    return frames_.await().at - began;
  }

private:
  void expectAll() {
    std::vector<std::string> ids;
    for (unsigned i = 0; i < devices(); ++i) ids.push_back(addressOf(i));
    frames_.expect(std::move(ids), true);
  }

  FrameWatch frames_;
  NodeUnderTest node_;
};

void run(const Wish& wish) {
  const OwnPlace place;
  std::vector<std::unique_ptr<RestartNode>> nodes;
  std::vector<RestartRow> rows;
  for (const unsigned devices : wish.common.devices) {
    nodes.push_back(std::make_unique<RestartNode>(devices));
    rows.push_back({.devices = devices, .kubelet = {}, .plugind = {}});
  }
  for (unsigned time = 0; time < wish.kubelets; ++time) {
    for (std::size_t i = 0; i < nodes.size(); ++i) rows[i].kubelet.add(nodes[i]->restartKubelet());
  }
  for (unsigned time = 0; time < wish.pluginds; ++time) {
    for (std::size_t i = 0; i < nodes.size(); ++i) rows[i].plugind.add(nodes[i]->restartPlugind());
  }
  printTable(rows, std::cout);
  writeJson(wish.common, [&rows](std::ostream& out) { printJson(rows, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app("Times what restarts cost the programs in VFIOGATE_BIN.");
  bench::addCommonOptions(app, wish.common);
  bench::addCount(app, "--kubelets", wish.kubelets, 100'000, "restarts of each node's kubelet");
  bench::addCount(app, "--pluginds", wish.pluginds, 100'000, "restarts of each node's plugind");
  CLI11_PARSE(app, argc, argv);
  return bench::runBench("restart_bench", [&wish]() { bench::run(wish); });
}
