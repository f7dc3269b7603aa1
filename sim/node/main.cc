// sim-node: a whole node to try vfiogate on, with a stand-in kubelet and simulated hardware.

#include "ipc/base/build_info.h"
#include "sim/base/command_listener/command_table.h"
#include "sim/base/stop_signals.h"
#include "sim/base/temp_dir.h"
#include "sim/node/node.h"
#include "sim/node/tour.h"
#include "sim/sysfs/control/control_client.h"

#include <kj/io.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>

namespace vfiogate::sim {
namespace {

struct Wish {
  std::string topology;
  std::string config;
  std::string directory;
  std::string programs;
  std::string broken;  ///< of a tour: the step to break
  bool machine = false;
  bool discovery = false;
  bool stay = false;
};

/// What is to be seen without a hint from the kernel is not seen.
constexpr std::chrono::seconds kNoRescan{3600};

int complain(const std::string& why) {
  std::cerr << "sim-node: " << why << "\n";
  return 1;
}

/// Lines of several threads, one at a time.
void sayLine(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

Result<std::unique_ptr<Node>, std::string> startNode(const Wish& wish,
                                                     const std::string& directory) {
  NodeOptions options{directory, wish.programs, wish.topology, wish.config};
  if (wish.discovery) options.rescan = kNoRescan;
  return Node::start(std::move(options));
}

void serveCommands(Node& node, int stopFd) {
  const auto listener = CommandListener::open(node.places().control());
  if (!listener) {
    complain(listener.error());
    return;
  }
  sayLine("commands: sim-node ctl " + node.places().directory + " help     end: Ctrl-C");
  listener->serve(stopFd, [&node](const std::string& line) {
    const std::string answer = execute(node, line);
    sayLine("> " + line + "\n" + answer + nodeText(node.kubelet()));
    return answer;
  });
}

int up(const Wish& wish) {
  const kj::AutoCloseFd stop = test::stopSignals();
  if (!wish.topology.empty()) {
    if (const auto problem = enterOwnNamespaces()) return complain(*problem);
  }
  NodeOptions options{wish.directory, wish.programs, wish.topology, wish.config};
  options.heard = [](const std::string& who, const std::string& line) {
    sayLine(who + ": " + line);
  };
  const auto node = Node::start(std::move(options));
  if (!node) return complain(node.error());
  serveCommands(**node, stop);
  return 0;
}

std::vector<TourStep> stepsOf(const Wish& wish) {
  if (wish.discovery) return discoveryTour();
  return wish.machine ? machineTour() : simulatedTour();
}

int tour(const Wish& wish) {
  const auto steps = stepsOf(wish);
  if (!wish.broken.empty() &&
      std::ranges::find(steps, wish.broken, &TourStep::name) == steps.end()) {
    std::string known;
    for (const TourStep& step : steps) known += " " + step.name;
    return complain("VFIOGATE_TRY_BREAK: no step \"" + wish.broken + "\"; there are" + known);
  }
  const kj::AutoCloseFd stop = test::stopSignals();
  if (!wish.machine && !wish.discovery) {
    if (const auto problem = enterOwnNamespaces()) return complain(*problem);
  }
  const TempDir directory;
  const auto node = startNode(wish, directory.path());
  if (!node) return complain(node.error());
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const bool colour = terminal && std::getenv("NO_COLOR") == nullptr;
  const int status =
      guide(**node, steps, {.broken = wish.broken, .rehearse = wish.discovery, .colour = colour},
            std::cout);
  if (status != 0) {
    std::cerr << "privd said:\n"
              << (*node)->privd().output() << "plugind said:\n"
              << (*node)->plugind().output();
  }
  if (status == 0 && wish.stay && terminal) serveCommands(**node, stop);
  return status;
}

int tell(const std::string& directory, const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + word;
  const auto answer = askControl(NodePlaces{directory}.control(), command);
  if (!answer) return complain(answer.error());
  const bool failed = answer->find("error:") != std::string::npos;
  (failed ? std::cerr : std::cout) << *answer;
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace vfiogate::sim

int main(int argc, char** argv) {
  using namespace vfiogate::sim;
  CLI::App app{"A node to try vfiogate on: hardware, a stand-in kubelet, privd and plugind."};
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  app.require_subcommand(1);
  Wish wish;
  wish.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (const char* broken = std::getenv("VFIOGATE_TRY_BREAK")) wish.broken = broken;

  const auto common = [&wish](CLI::App* command) {
    command->add_option("--topology", wish.topology, "hardware to simulate; see sim-sysfs check");
    command->add_option("--config", wish.config, "plugind's configuration")->required();
    command->add_option("--programs", wish.programs, "where privd, plugind and sim-sysfs are");
  };
  CLI::App* upCommand = app.add_subcommand("up", "bring a node up and take commands until Ctrl-C");
  common(upCommand);
  upCommand->add_option("--dir", wish.directory, "new directory for its sockets and mounts")
      ->required();
  CLI::App* tourCommand = app.add_subcommand("tour", "show what vfiogate does, step by step");
  common(tourCommand);
  tourCommand->add_flag("--machine", wish.machine, "in the virtual machine of tests/machine");
  tourCommand->add_flag("--discovery", wish.discovery,
                        "there: hardware that comes and goes; each step broken, too");
  tourCommand->add_flag("--stay", wish.stay, "on a terminal: take commands afterwards");
  std::string directory;
  std::vector<std::string> words;
  CLI::App* ctl = app.add_subcommand("ctl", "give a running node a command; `help` lists them");
  ctl->add_option("DIR", directory)->required();
  ctl->add_option("COMMAND", words)->required();
  ctl->positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  if (*upCommand) return up(wish);
  if (*tourCommand) return tour(wish);
  return tell(directory, words);
}
