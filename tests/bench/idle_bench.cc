// What the processes of a node cost while nobody asks them for anything: threads, wake-ups,
// processor, memory.

#include "tests/bench/bare_server.h"
#include "tests/bench/bench_command.h"
#include "tests/bench/node_under_test.h"
#include "tests/bench/peer_node.h"

#include <nlohmann/json.hpp>

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::bench {
namespace {

namespace fs = std::filesystem;

fs::path placeOf(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

/// The number after `key` in a file of lines "key: number ...".
std::uint64_t numberIn(const fs::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  giveUp(file.string() + " has no " + key);
}

std::string lineOf(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// From /proc/PID, at one moment.
struct ProcessFigures {
  /// How often each thread went to sleep, by its number in the kernel.
  std::map<pid_t, std::uint64_t> sleeps;
  std::map<pid_t, std::string> names;  ///< of the threads
  std::chrono::nanoseconds processor{0};
  std::uint64_t residentKib = 0;
  std::uint64_t privateKib = 0;  ///< of no other process at that moment
  std::uint64_t shareKib = 0;    ///< PSS
};

/// Throws where the process has ended.
ProcessFigures figuresOf(pid_t process) {
  ProcessFigures figures;
  const fs::path place = placeOf(process);
  for (const auto& task : fs::directory_iterator(place / "task")) {
    const pid_t thread = std::stoi(task.path().filename().string());
    figures.sleeps[thread] = numberIn(task.path() / "status", "voluntary_ctxt_switches:");
    figures.names[thread] = lineOf(task.path() / "comm");
    figures.processor += std::chrono::nanoseconds(std::stoll(lineOf(task.path() / "schedstat")));
  }
  const fs::path memory = place / "smaps_rollup";
  figures.residentKib = numberIn(memory, "Rss:");
  figures.privateKib = numberIn(memory, "Private_Clean:") + numberIn(memory, "Private_Dirty:");
  figures.shareKib = numberIn(memory, "Pss:");
  return figures;
}

/// Those that `process` started and that still run.
std::vector<pid_t> childrenOf(pid_t process) {
  std::vector<pid_t> children;
  std::ifstream in(placeOf(process) / "task" / std::to_string(process) / "children");
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

/// The file name of its program.
std::string programOf(pid_t process) {
  return fs::read_symlink(placeOf(process) / "exe").filename();
}

struct Wish {
  CommonWish common{.devices = {8, 256}, .json = {}};
  unsigned seconds = 30;
  std::string peer;
  std::string bare;
};

/// One process at two moments.
struct Watched {
  unsigned devices = 0;  ///< none: it belongs to no node
  pid_t process = 0;
  std::string program;
  ProcessFigures before;
  ProcessFigures after;

  /// Of each thread name, for the whole time.
  std::map<std::string, std::uint64_t> wakes() const {
    std::map<std::string, std::uint64_t> sums;
    for (const auto& [thread, slept] : after.sleeps) {
      const auto former = before.sleeps.find(thread);
      sums[after.names.at(thread)] += slept - (former == before.sleeps.end() ? 0 : former->second);
    }
    return sums;
  }
};

Watched watchedOf(unsigned devices, pid_t process, std::string program) {
  return {.devices = devices,
          .process = process,
          .program = std::move(program),
          .before = {},
          .after = {}};
}

std::vector<Watched> processesOf(NodeUnderTest& node) {
  std::vector<pid_t> processes = childrenOf(node.privd().pid());
  processes.insert(processes.begin(), node.plugind().pid());
  std::vector<Watched> watched;
  for (const pid_t process : processes) {
    watched.push_back(watchedOf(node.devices(), process, programOf(process)));
  }
  return watched;
}

std::vector<Watched> measure(const Wish& wish) {
  std::vector<std::unique_ptr<NodeUnderTest>> nodes;
  std::vector<std::unique_ptr<PeerNode>> peers;
  std::vector<Watched> all;
  for (const unsigned devices : wish.common.devices) {
    nodes.push_back(std::make_unique<NodeUnderTest>(devices));
    std::ranges::move(processesOf(*nodes.back()), std::back_inserter(all));
    if (wish.peer.empty()) continue;
    peers.push_back(std::make_unique<PeerNode>(devices, wish.peer));
    all.push_back(watchedOf(devices, peers.back()->process().pid(), "peer"));
  }
  const BareServer bare(fs::read_symlink("/proc/self/exe"));
  all.push_back(watchedOf(0, bare.process(), "bare server"));
  for (Watched& each : all) each.before = figuresOf(each.process);
  std::this_thread::sleep_for(std::chrono::seconds(wish.seconds));
  for (Watched& each : all) each.after = figuresOf(each.process);
  return all;
}

std::uint64_t sumOf(const std::map<std::string, std::uint64_t>& wakes) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : wakes) sum += count;
  return sum;
}

void printTable(const std::vector<Watched>& all, unsigned seconds, std::ostream& out) {
  out << "idle for " << seconds
      << " s        devices threads  wakes/s  core %  RSS MB priv MB  PSS MB\n"
      << std::fixed;
  for (const Watched& each : all) {
    const auto wakes = each.wakes();
    const auto perSecond = [seconds](std::uint64_t count) {
      return static_cast<double>(count) / seconds;
    };
    const auto busy = std::chrono::duration<double>(each.after.processor - each.before.processor);
    out << std::left << std::setw(20) << each.program << std::right << std::setw(8) << each.devices
        << std::setw(8) << each.after.sleeps.size() << std::setprecision(2) << std::setw(9)
        << perSecond(sumOf(wakes)) << std::setprecision(3) << std::setw(8)
        << 100 * busy.count() / seconds << std::setprecision(1) << std::setw(8)
        << static_cast<double>(each.after.residentKib) / 1024 << std::setw(8)
        << static_cast<double>(each.after.privateKib) / 1024 << std::setw(8)
        << static_cast<double>(each.after.shareKib) / 1024 << "\n";
    for (const auto& [name, count] : wakes) {
      if (count == 0 || wakes.size() == 1) continue;
      out << "  " << std::left << std::setw(34) << name << std::right << std::setprecision(2)
          << std::setw(9) << perSecond(count) << "\n";
    }
  }
}

void printJson(const std::vector<Watched>& all, unsigned seconds, std::ostream& out) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Watched& each : all) {
    const auto busy =
        std::chrono::duration<double, std::milli>(each.after.processor - each.before.processor);
    rows.push_back({{"devices", each.devices},
                    {"program", each.program},
                    {"seconds", seconds},
                    {"threads", each.after.sleeps.size()},
                    {"wakes", each.wakes()},
                    {"processor_ms", busy.count()},
                    {"rss_kib", each.after.residentKib},
                    {"private_kib", each.after.privateKib},
                    {"pss_kib", each.after.shareKib}});
  }
  out << rows.dump(2) << "\n";
}

void run(const Wish& wish) {
  const auto all = measure(wish);
  printTable(all, wish.seconds, std::cout);
  writeJson(wish.common.json,
            [&all, &wish](std::ostream& out) { printJson(all, wish.seconds, out); });
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  namespace bench = vfiogate::bench;
  bench::Wish wish;
  CLI::App app("Counts what the programs in VFIOGATE_BIN cost while they have nothing to do.");
  bench::addCommonOptions(app, wish.common);
  bench::addCount(app, "--seconds", wish.seconds, 3600, "of looking on");
  app.add_option("--peer", wish.peer, "NVIDIA's plugin for KubeVirt, watched in the same run")
      ->check(CLI::ExistingFile);
  app.add_option("--serve-bare", wish.bare)->group("");  // how it starts what it compares with
  CLI11_PARSE(app, argc, argv);
  if (!wish.bare.empty()) return bench::serveBare(wish.bare, bench::Behind::kNobody);
  return bench::runBench("idle_bench", [&wish]() { bench::run(wish); });
}
