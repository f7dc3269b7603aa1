#include "sim/node/node.h"

#include "sim/base/command_listener/command_table.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <vector>

namespace vfiogate::sim {
namespace {

std::string failure(const std::string& why) {
  return "error: " + why + "\n";
}

/// "vfiogate.dev/10de_2684=2"; without a number: one.
bool readLimit(const std::string& word, std::map<std::string, std::size_t>& limits) {
  const std::size_t equals = word.find('=');
  std::size_t count = 1;
  if (equals != std::string::npos) {
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data() + equals + 1, end, count);
    if (read.ec != std::errc() || read.ptr != end || count == 0) return false;
  }
  return limits.emplace(word.substr(0, equals), count).second;
}

std::string run(Node& node, const Words& words) {
  PodSpec pod;
  pod.uid = words[1];
  ContainerSpec container{.name = "compute", .limits = {}};
  for (std::size_t index = 2; index < words.size(); ++index) {
    if (!readLimit(words[index], container.limits)) {
      return failure("\"" + words[index] + "\" is not RESOURCE or RESOURCE=COUNT");
    }
  }
  pod.containers.push_back(container);
  const Admission admission = node.kubelet().admit(pod);
  if (!admission.admitted) return failure(admission.reason + ": " + admission.message);
  std::string text;
  for (const Granted& granted : admission.granted) {
    text += granted.resource + ": " + grantText(granted) + "\n";
  }
  const ContainerStart start = node.kubelet().startContainer(pod.uid, container.name);
  return start.started ? text + "started\n" : text + failure("not started: " + start.error);
}

std::string forceDelete(Node& node, const Words& words) {
  node.kubelet().forceDelete(words[1]);
  return "ok\n";
}

std::string end(Node& node, const Words& words) {
  node.kubelet().end(words[1]);
  return "ok\n";
}

std::string kubeletAct(Node& node, const Words& words) {
  if (words[1] == "stop") {
    node.kubelet().stop();
  } else if (words[1] == "restart") {
    node.kubelet().restart();
  } else {
    return failure("kubelet: say stop or restart");
  }
  return "ok\n";
}

std::string restart(Node& node, const Words& words) {
  if (words[1] == "privd") return node.startPrivd() ? "ok\n" : failure(node.privd().output());
  if (words[1] == "plugind") return node.startPlugind() ? "ok\n" : failure(node.plugind().output());
  return failure("restart: say privd or plugind");
}

std::string showNode(Node& node, const Words& /*words*/) {
  return nodeText(node.kubelet()) + (node.simulated() ? "\n" + node.hardware("show") : "");
}

std::string log(Node& node, const Words& words) {
  if (words[1] == "privd") return node.privd().output();
  if (words[1] == "plugind") return node.plugind().output();
  return failure("log: say privd or plugind");
}

std::string help(Node& node, const Words& words);

const std::vector<Command<Node>>& commands() {
  static const std::vector<Command<Node>> kCommands{
      {"show", "", 1, 1, "what the kubelet sees, and the hardware", showNode},
      {"run", "POD RESOURCE[=COUNT]...", 3, kMany, "a pod is admitted and starts", run},
      {"end", "POD", 2, 2, "its containers have ended; freed lazily, as by a real kubelet", end},
      {"force-delete", "POD", 2, 2, "the kubelet forgets it at once; its containers run on",
       forceDelete},
      {"kubelet", "stop|restart", 2, 2, "as a killed one; restart also starts it again",
       kubeletAct},
      {"restart", "privd|plugind", 2, 2, "kill -9, then start", restart},
      {"log", "privd|plugind", 2, 2, "what it said so far", log},
      {"help", "", 1, 1, "this list", help}};
  return kCommands;
}

std::string help(Node& node, const Words& /*words*/) {
  std::ostringstream text;
  constexpr int kColumn = 36;
  printCommands(commands(), kColumn, text);
  if (node.simulated()) text << "the hardware's:\n" << node.hardware("help");
  return text.str();
}

}  // namespace

std::string execute(Node& node, const std::string& line) {
  const auto read = readCommand(commands(), line);
  if (const auto* problem = std::get_if<NotUnderstood>(&read)) {
    const bool others = problem->why == NotUnderstood::Why::kUnknown && node.simulated();
    return others ? node.hardware(line) : failure(problem->text);
  }
  const auto& [command, words] = std::get<0>(read);
  return command->act(node, words);
}

}  // namespace vfiogate::sim
