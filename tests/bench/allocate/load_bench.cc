// How long a device plugin's Allocate takes, whoever wrote the plugin: the client of allocate_bench
// for a socket that somebody else serves.

#include "tests/bench/allocate/callers.h"
#include "tests/bench/bench_command.h"
#include "tests/bench/latencies.h"

#include <fstream>
#include <iostream>
#include <utility>

namespace vfiogate::bench {
namespace {

struct Wish {
  std::string socket;
  Devices devices;
  unsigned calls = 200;
  unsigned callers = 1;
  unsigned perCall = 1;
  std::string json;
};

/// What is asked for next: all devices in turn, and again from the first.
class Turns {
public:
  Turns(Devices devices, unsigned perCall) : devices_(std::move(devices)), perCall_(perCall) {}

  std::vector<Devices> next(unsigned callers) {
    std::vector<Devices> requests(callers);
    for (Devices& request : requests) {
      while (request.size() < perCall_) request.push_back(devices_[asked_++ % devices_.size()]);
    }
    return requests;
  }

private:
  const Devices devices_;
  const unsigned perCall_;
  std::size_t asked_ = 0;
};

/// Throws where calls at the same moment would ask for one device twice.
Devices devicesOf(const Wish& wish) {
  Devices devices =
      wish.devices.empty() ? PluginClient(wish.socket).healthyDevices() : wish.devices;
  const std::size_t wanted = std::size_t{wish.callers} * wish.perCall;
  if (devices.size() < wanted) {
    giveUp(std::to_string(devices.size()) + (wish.devices.empty() ? " healthy" : "") +
           " devices are too few: " + std::to_string(wanted) + " are asked for at once");
  }
  return devices;
}

void run(const Wish& wish) {
  const Devices devices = devicesOf(wish);
  Row row{.devices = static_cast<unsigned>(devices.size()), .perCall = wish.perCall};
  Turns turns(devices, wish.perCall);
  Callers callers(wish.socket, wish.callers);
  std::string refusal;
  for (unsigned call = 0; call < wish.calls; ++call) {
    for (const PluginClient::Answer& answer : callers.allocate(turns.next(wish.callers))) {
      if (!answer.status.ok() && refusal.empty()) refusal = answer.status.error_message();
      (answer.status.ok() ? row.allocate : row.refused).add(answer.took);
    }
    row.empty.add(callers.callEmpty());
  }
  if (row.allocate.count() == 0) giveUp("each Allocate was refused, the first: " + refusal);
  printTable({row}, std::cout);
  if (!refusal.empty()) std::cout << "  the first refusal: " << refusal << "\n";
  writeJson(wish.json, [&row](std::ostream& out) { printJson({row}, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app(
      "Times Allocate and empty gRPC calls of the device plugin that serves on a socket. The "
      "devices are\nallocated as the plugin sees it, past the kubelet: not for a node on which "
      "pods "
      "use it.");
  app.add_option("--socket", wish.socket, "the plugin's, as in the kubelet's device-plugins")
      ->required();
  app.add_option("--devices", wish.devices,
                 "their ids, comma-separated; without it those that ListAndWatch shows as healthy")
      ->delimiter(',');
  bench::addCount(app, "--calls", wish.calls, 1'000'000, "of each kind by each caller");
  bench::addCount(app, "--callers", wish.callers, 64,
                  "who ask at the same moment, each on a connection of its own");
  bench::addCount(app, "--per-call", wish.perCall, 64, "devices that each Allocate asks for");
  bench::addJson(app, wish.json);
  CLI11_PARSE(app, argc, argv);
  return bench::runBench("load_bench", [&wish]() { bench::run(wish); });
}
