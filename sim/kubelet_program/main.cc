// kubelet-sim: a stand-in kubelet for people who try a device plugin without a cluster.

#include "ipc/base/build_info.h"
#include "sim/base/command_listener/command_table.h"
#include "sim/base/stop_signals.h"
#include "sim/kubelet_program/kubelet_commands.h"
#include "sim/sysfs/control/control_client.h"

#include <kj/io.h>
#include <CLI/CLI.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>

namespace vfiogate::sim {
namespace {

constexpr int kUsage = 2;

struct Wish {
  std::string directory;
  std::vector<std::string> pods;
  std::uint64_t seed = 1;
  std::size_t grace = 300;  ///< seconds
  bool endsOnlyItsOwn = false;
  bool topologyHints = false;
};

std::string commandSocketIn(const std::string& directory) {
  return directory + "/kubelet-sim.sock";
}

int complain(const std::string& why) {
  std::cerr << "kubelet-sim: " << why << "\n";
  return 1;
}

KubeletOptions optionsOf(const Wish& wish) {
  KubeletOptions options;
  options.seed = wish.seed;
  options.grace = std::chrono::seconds(wish.grace);
  options.endsOnlyItsOwn = wish.endsOnlyItsOwn;
  options.topologyHints = wish.topologyHints;
  options.keepsLastAdmitted = false;  // as seen on a node; see sim/kubelet/README.md
  return options;
}

/// Does what must be done without a command: schedules what fits by now, and at the end lets the
/// kubelet go, so that no call to a plugin holds up the program's end.
void attend(Cluster& cluster, std::mutex& oneAtATime, int newsFd, int stopFd) {
  std::array<pollfd, 2> waiting{{{newsFd, POLLIN, 0}, {stopFd, POLLIN, 0}}};
  while (poll(waiting.data(), waiting.size(), -1) >= 0 || errno == EINTR) {
    if (waiting[1].revents != 0) return cluster.kubelet().stop();
    eventfd_t news = 0;
    if (waiting[0].revents == 0 || eventfd_read(newsFd, &news) != 0) continue;
    const std::lock_guard lock(oneAtATime);
    std::cout << cluster.scheduleAgain() << std::flush;
  }
}

int run(const Wish& wish) {
  const kj::AutoCloseFd stop = test::stopSignals();
  std::error_code error;
  std::filesystem::create_directories(wish.directory + "/device-plugins", error);
  if (error) return complain(wish.directory + ": " + error.message());
  const auto listener = CommandListener::open(commandSocketIn(wish.directory));
  if (!listener) return complain(listener.error());

  const kj::AutoCloseFd news(eventfd(0, EFD_CLOEXEC));
  EventLog events([](const std::string& line) { std::cout << line << std::endl; });
  KubeletOptions options = optionsOf(wish);
  options.told = [&](const std::string& what) {
    events.add(what);
    eventfd_write(news, 1);
  };
  Cluster cluster(wish.directory, options);
  std::mutex oneAtATime;
  for (const std::string& file : wish.pods) {
    const std::string answer = scheduleFile(cluster, file);
    if (answer.starts_with("error: ")) return complain(answer.substr(7));
    std::cout << answer;
  }
  std::cout << cluster.boot() << "plugins register at " << wish.directory
            << "/device-plugins/kubelet.sock\ncommands: kubelet-sim ctl " << wish.directory
            << " help     end: Ctrl-C" << std::endl;
  std::thread attending([&]() { attend(cluster, oneAtATime, news, stop); });
  Desktop desktop{cluster, events};
  listener->serve(stop, [&](const std::string& line) {
    const std::lock_guard lock(oneAtATime);
    const std::string answer = executeKubelet(desktop, line);
    std::cout << "> " << line << "\n" << (line.starts_with("get") ? "" : answer) << std::flush;
    eventfd_write(news, 1);
    return answer;
  });
  cluster.kubelet().stop();  // ends a call to a plugin that the other thread may be in
  attending.join();
  std::filesystem::remove(commandSocketIn(wish.directory), error);
  return 0;
}

int tell(const std::string& directory, std::vector<std::string> words) {
  // The program has a working directory of its own.
  if (words.size() == 2 && (words[0] == "admit" || words[0] == "apply")) {
    words[1] = std::filesystem::absolute(words[1]);
  }
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + word;
  const auto answer = askControl(commandSocketIn(directory), command);
  if (!answer)
    return complain(answer.error() + "; is `kubelet-sim run --dir " + directory + "` up?");
  if (answer->starts_with("usage: ")) {
    std::cerr << *answer;
    return kUsage;
  }
  const bool failed =
      answer->starts_with("error: ") || answer->find("\nerror: ") != std::string::npos;
  (failed ? std::cerr : std::cout) << *answer;
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace vfiogate::sim

int main(int argc, char** argv) {
  using namespace vfiogate::sim;
  CLI::App app{"A stand-in kubelet for device plugins: registration, pods, restarts, crashes."};
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  app.require_subcommand(1);
  Wish wish;
  CLI::App* up = app.add_subcommand("run", "play a kubelet in a directory until Ctrl-C");
  up->add_option("--dir", wish.directory,
                 "stands for /var/lib/kubelet; gets device-plugins, pod-resources and "
                 "plugins_registry. Short: sockets lie in it")
      ->required();
  up->add_option("--pods", wish.pods,
                 "pods to run once the node has what they ask for; may be repeated")
      ->check(CLI::ExistingFile);
  up->add_option("--seed", wish.seed, "of what a real kubelet does at random")
      ->capture_default_str();
  up->add_option("--grace", wish.grace, "seconds that a resource outlives its plugin")
      ->capture_default_str();
  up->add_flag("--fixed-streams", wish.endsOnlyItsOwn,
               "the end of an old stream leaves a new registration alone, as after 1.36");
  up->add_flag("--topology-hints", wish.topologyHints, "a topology policy other than none");
  std::string directory;
  CLI::App* ctl = app.add_subcommand("ctl", "give a running one a command");
  ctl->add_option("DIR", directory, "that of run --dir")->required();
  ctl->prefix_command();  // what comes after DIR is the command's, options too
  ctl->footer("DIR is followed by a command:\n" + kubeletCommandHelp() +
              "Exit codes: 0 done; 1 refused or failed; 2 not understood.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // The library reports --help by exception, too.
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (*up) return run(wish);
  return tell(directory, ctl->remaining());
}
