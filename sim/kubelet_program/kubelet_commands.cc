#include "sim/kubelet_program/kubelet_commands.h"

#include "sim/base/command_listener/command_table.h"
#include "sim/kubelet_program/cluster.h"
#include "sim/kubelet_program/manifest.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace vfiogate::sim {
namespace {

constexpr std::size_t kEventsShown = 30;

std::string usage(const std::string& why) {
  return "usage: " + why + "\n";
}

bool readNumber(const std::string& word, std::size_t& number) {
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

/// Of a file, whose claims the cluster takes at once.
Result<std::vector<PodSpec>, std::string> readPods(Cluster& cluster, const std::string& path) {
  std::ifstream file(path);
  if (!file) return Failure{path + ": cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  auto read = parseManifest(text.str());
  if (read) {
    auto manifest = std::move(read).value();
    cluster.addClaims(std::move(manifest.claims));
    return std::move(manifest.pods);
  }
  const ManifestError& error = read.error();
  const std::string line = error.line > 0 ? ":" + std::to_string(error.line) : "";
  return Failure{path + line + ": " + error.why};
}

std::string admit(Desktop& desktop, const Words& words) {
  auto pods = readPods(desktop.cluster, words[1]);
  return pods ? desktop.cluster.admit(std::move(pods).value()) : failure(pods.error());
}

std::string apply(Desktop& desktop, const Words& words) {
  return scheduleFile(desktop.cluster, words[1]);
}

std::string start(Desktop& desktop, const Words& words) {
  return desktop.cluster.startContainer(words[1], words[2]);
}

std::string stop(Desktop& desktop, const Words& words) {
  return desktop.cluster.stopContainer(words[1], words[2]);
}

std::string end(Desktop& desktop, const Words& words) {
  return desktop.cluster.end(words[1]);
}

std::string remove(Desktop& desktop, const Words& words) {
  if (words.size() == 3 && words[2] != "--force") return usage("delete POD [--force]");
  return desktop.cluster.remove(words[1], words.size() == 3);
}

std::string crash(Desktop& desktop, const Words& /*words*/) {
  return desktop.cluster.crash();
}

std::string powerOff(Desktop& desktop, const Words& /*words*/) {
  return desktop.cluster.powerOff();
}

std::string boot(Desktop& desktop, const Words& /*words*/) {
  return desktop.cluster.boot();
}

std::string restart(Desktop& desktop, const Words& /*words*/) {
  if (desktop.cluster.isUp()) desktop.cluster.crash();
  return desktop.cluster.boot();
}

std::string manner(Desktop& desktop, const Words& words) {
  static const std::map<std::string, Manner> kManners{{"registers", Manner::kRegisters},
                                                      {"refuses", Manner::kRefuses},
                                                      {"silent", Manner::kSilent},
                                                      {"closes", Manner::kClosesAfterRegister}};
  const auto wanted = kManners.find(words[1]);
  if (wanted == kManners.end()) return usage("manner registers|refuses|silent|closes [TEXT]");
  std::string text;
  for (std::size_t i = 2; i < words.size(); ++i) text += (i > 2 ? " " : "") + words[i];
  desktop.cluster.kubelet().behave(wanted->second, text.empty() ? "not today" : text);
  return "Register from now on: " + words[1] + "\n";
}

std::string slow(Desktop& desktop, const Words& words) {
  std::size_t milliseconds = 0;
  constexpr std::size_t kLongest = 600'000;
  if (!readNumber(words[1], milliseconds) || milliseconds > kLongest) {
    return usage("slow MS, from 0 to " + std::to_string(kLongest));
  }
  desktop.cluster.kubelet().answerLate(std::chrono::milliseconds(milliseconds));
  return "Register waits " + words[1] + " ms from now on\n";
}

std::string dropStream(Desktop& desktop, const Words& words) {
  desktop.cluster.kubelet().dropStream(words[1]);
  return "the stream of " + words[1] + " is cancelled\n";
}

std::string checkpoint(Desktop& desktop, const Words& words) {
  if (words[1] != "lose" && words[1] != "corrupt") return usage("checkpoint lose|corrupt");
  if (desktop.cluster.isUp()) return failure("a running kubelet writes it anew; `crash` it first");
  if (words[1] == "lose") {
    desktop.cluster.kubelet().loseCheckpoint();
    return "the checkpoint is gone\n";
  }
  desktop.cluster.kubelet().corruptCheckpoint();
  return "the checkpoint is cut in the middle\n";
}

std::string events(Desktop& desktop, const Words& words) {
  std::size_t count = kEventsShown;
  if (words.size() == 2 && !readNumber(words[1], count)) return usage("events [COUNT]");
  return desktop.events.last(count);
}

std::string plugins(KubeletSim& kubelet) {
  std::string text;
  for (const std::string& name : kubelet.resources()) {
    text += name + ": " + std::to_string(kubelet.registrations(name)) + " registrations, " +
            std::to_string(kubelet.frames(name)) + " frames, " +
            std::to_string(kubelet.streamsEnded(name)) + " streams ended\n";
  }
  for (const std::string& plugin : kubelet.watchedPlugins()) text += "watched: " + plugin + "\n";
  return text.empty() ? "no plugin\n" : text;
}

std::string get(Desktop& desktop, const Words& words) {
  Cluster& cluster = desktop.cluster;
  static const std::string kUsage =
      "get node|pods [-o json|wide], get containers, get plugins, get devices RESOURCE";
  std::string form;
  if (words.size() == 4 && words[2] == "-o") form = words[3];
  const bool plain = words.size() == 2;
  if (words[1] == "node" && plain) return nodeTable(cluster);
  if (words[1] == "node" && form == "json") return nodeJson(cluster);
  if (words[1] == "pods" && (plain || form == "wide")) return podTable(cluster, !plain);
  if (words[1] == "pods" && form == "json") return podJson(cluster);
  if (words[1] == "containers" && plain) return containerTable(cluster);
  if (words[1] == "plugins" && plain) return plugins(cluster.kubelet());
  if (words[1] == "devices" && words.size() == 3) return deviceTable(cluster, words[2]);
  return usage(kUsage);
}

std::string help(Desktop& /*desktop*/, const Words& /*words*/) {
  return kubeletCommandHelp();
}

const std::vector<Command<Desktop>>& commands() {
  static const std::vector<Command<Desktop>> kCommands{
      {"admit", "FILE", 2, 2, "its pods, at once: Allocate now, or a rejected pod", admit},
      {"apply", "FILE", 2, 2, "its pods, once the node has what they ask for; started then", apply},
      {"start", "POD CONTAINER", 3, 3, "or restart it: PreStartContainer, no Allocate", start},
      {"stop", "POD CONTAINER", 3, 3, "it ends by itself; the pod lives on", stop},
      {"end", "POD", 2, 2, "all containers have ended: the pod is over", end},
      {"delete", "POD [--force]", 2, 3, "its containers stop first; by force they run on", remove},
      {"crash", "", 1, 1, "kill -9 of the kubelet; containers run on", crash},
      {"restart", "", 1, 1, "crash and boot", restart},
      {"power-off", "", 1, 1, "of the whole node", powerOff},
      {"boot", "", 1, 1, "the kubelet comes up and admits its pods again", boot},
      {"manner", "registers|refuses|silent|closes [TEXT]", 2, kMany, "what Register does", manner},
      {"slow", "MS", 2, 2, "Register waits so long; 0: it does not", slow},
      {"drop", "RESOURCE", 2, 2, "the kubelet hangs up on the plugin", dropStream},
      {"checkpoint", "lose|corrupt", 2, 2, "while the kubelet is down", checkpoint},
      {"get", "node|pods [-o json|wide]", 2, 4, "as a kubelet reports them", get},
      {"get", "containers|plugins|devices RESOURCE", 2, 4, "what the node knows", get},
      {"events", "[COUNT]", 1, 2, "registrations, frames, streams, the latest last", events},
      {"help", "", 1, 1, "this list", help}};
  return kCommands;
}

}  // namespace

std::string kubeletCommandHelp() {
  constexpr int kColumn = 46;
  std::ostringstream text;
  printCommands(commands(), kColumn, text);
  return text.str();
}

std::string scheduleFile(Cluster& cluster, const std::string& path) {
  auto pods = readPods(cluster, path);
  return pods ? cluster.schedule(std::move(pods).value()) : failure(pods.error());
}

std::string executeKubelet(Desktop& desktop, const std::string& line) {
  const auto read = readCommand(commands(), line);
  if (const auto* problem = std::get_if<NotUnderstood>(&read)) return usage(problem->text);
  const auto& [command, words] = std::get<0>(read);
  return command->act(desktop, words);
}

}  // namespace vfiogate::sim
