// sim-sysfs: a simulated node's sysfs and device nodes, mounted for everybody to try things on.

#include <sys/stat.h>
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "ipc/base/build_info.h"
#include "sim/base/stop_signals.h"
#include "sim/sysfs/control/control_client.h"
#include "sim/sysfs/simulated_node.h"
#include "sim/sysfs/topology/topology_file.h"

namespace vfiogate::sim {
namespace {

/// Null after having said why.
std::optional<Topology> readTopology(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << path << ": cannot be read\n";
    return std::nullopt;
  }
  std::ostringstream text;
  text << file.rdbuf();
  auto parsed = parseTopology(text.str());
  if (parsed) return std::move(parsed).value();
  std::cerr << path << ":" << parsed.error().line << ": " << parsed.error().why << "\n";
  return std::nullopt;
}

int check(const std::string& path) {
  const auto topology = readTopology(path);
  if (!topology) return 1;
  std::cout << path << ": " << topology->hardware.size() << " devices, " << topology->drivers.size()
            << " drivers\n"
            << show(SimKernel(*topology));
  return 0;
}

struct MountOptions {
  std::string topology;
  std::string directory;
  std::string control;
  std::string uevents = "auto";
  std::string nodes = "closed";
  unsigned seed = 1;
};

/// Whether events are injected; false after having said why it cannot go on.
bool chooseInjector(const MountOptions& wanted, NodeOptions& options, std::string& said) {
  const std::string& wish = wanted.uevents;
  const auto host = hostNetworkNamespace();
  if (wish == "off" || (wish == "auto" && host)) {
    said = "uevents off: " + (wish == "off" ? "as asked" : *host);
    return true;
  }
  auto injector = UeventInjector::open();
  if (injector) {
    options.injector.emplace(std::move(injector).value());
    said = "uevents on";
    if (wish == "thrice") {
      options.delivery = UeventDelivery::thrice(wanted.seed);
      said = "uevents three times each, seed " + std::to_string(wanted.seed);
    }
    return true;
  }
  said = "uevents off: " + injector.error();
  if (wish == "auto") return true;
  std::cerr << injector.error() << "\n";
  return false;
}

int mountNode(const MountOptions& wanted) {
  const auto topology = readTopology(wanted.topology);
  if (!topology) return 1;
  ::mkdir(wanted.directory.c_str(), 0755);
  NodeOptions options{wanted.directory, wanted.control, std::nullopt, {}, wanted.nodes == "open"};
  if (options.control.empty()) options.control = wanted.directory + ".ctl";
  const std::string control = options.control;
  std::string said;
  if (!chooseInjector(wanted, options, said)) return 1;
  const auto stop = test::stopSignals();
  auto node = SimulatedNode::start(*topology, std::move(options));
  if (!node) {
    std::cerr << node.error() << "\n";
    return 1;
  }
  std::cout << "ready: sysfs " << wanted.directory << "/sys, nodes " << wanted.directory
            << "/dev, commands " << control << ", " << said << std::endl;
  node.value()->run(stop.get());
  return 0;
}

/// The answer goes to stdout, an error to stderr.
int sendCommand(const std::string& socket, const std::string& command) {
  const auto answer = askControl(socket, command);
  if (!answer) {
    std::cerr << answer.error() << "\n";
    return 1;
  }
  const bool failed = answer->starts_with("error:");
  (failed ? std::cerr : std::cout) << *answer;
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace vfiogate::sim

int main(int argc, char** argv) {
  CLI::App app{"A simulated node: PCI devices, IOMMU groups and VFIO as the kernel shows them."};
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  app.require_subcommand(1);
  vfiogate::sim::MountOptions mountOptions;
  CLI::App* mount = app.add_subcommand("mount", "present a topology until SIGTERM");
  mount->add_option("--topology", mountOptions.topology, "topology file")->required();
  mount->add_option("--dir", mountOptions.directory, "gets sys and dev")->required();
  mount->add_option("--ctl", mountOptions.control, "command socket (default: DIR.ctl)");
  mount
      ->add_option(
          "--uevents", mountOptions.uevents,
          "inject kernel events into this network namespace; auto: unless it is the host's; "
          "thrice: each three times, out of order")
      ->check(CLI::IsMember({"auto", "on", "off", "thrice"}));
  mount
      ->add_option("--nodes", mountOptions.nodes,
                   "open: device nodes can be opened, and are the null device; a group's by one at "
                   "a time")
      ->check(CLI::IsMember({"closed", "open"}));
  mount->add_option("--seed", mountOptions.seed, "of the order in which thrice delivers");
  std::string file;
  CLI::App* check = app.add_subcommand("check", "read a topology file and show what it describes");
  check->add_option("FILE", file)->required();
  std::string socket;
  std::vector<std::string> words;
  CLI::App* ctl = app.add_subcommand("ctl", "give a running node a command; `help` lists them");
  ctl->add_option("SOCKET", socket)->required();
  ctl->add_option("COMMAND", words)->required();
  ctl->positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  if (mount->parsed()) return vfiogate::sim::mountNode(mountOptions);
  if (check->parsed()) return vfiogate::sim::check(file);
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + word;
  return vfiogate::sim::sendCommand(socket, command);
}
