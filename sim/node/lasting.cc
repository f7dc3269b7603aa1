#include "sim/node/tour.h"

#include <fstream>
#include <sstream>

namespace vfiogate::sim {
namespace {

/// "privd 412 began at 1035"; the second number is the kernel's, in ticks since it booted.
std::string processText(const std::string& who, pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name may contain anything
  constexpr int kStart = 20;                                    // counted from the state
  std::string state;
  std::string field;
  fields >> state;
  for (int index = 1; index < kStart && fields >> field; ++index) {
  }
  if (state.empty() || state == "Z") return who + " has ended";
  return who + " " + std::to_string(pid) + " began at " + field;
}

}  // namespace

std::string processesOf(Node& node) {
  return processText("privd", node.privd().pid()) + ", " +
         processText("plugind", node.plugind().pid());
}

Seen sameStreams(Node& node, bool broken, const std::string& hangUpOn) {
  KubeletSim& kubelet = node.kubelet();
  if (broken) {
    kubelet.dropStream(hangUpOn);
    kubelet.awaitStreamsEnded(hangUpOn, 1);
  }
  Seen result{true, ""};
  for (const std::string& resource : kubelet.resources()) {
    const std::size_t registered = kubelet.registrations(resource);
    const std::size_t ended = kubelet.streamsEnded(resource);
    result.seen = result.seen && registered == 1 && ended == 0;
    result.text += (result.text.empty() ? "" : "; ") + resource + " registered " +
                   std::to_string(registered) + ", streams ended " + std::to_string(ended) +
                   ", frames " + std::to_string(kubelet.frames(resource));
  }
  return result;
}

Seen sameProcesses(Node& node, bool broken, const std::string& before) {
  if (broken) node.startPrivd();
  const std::string now = processesOf(node);
  return {now == before, before == now ? now : "before: " + before + "; now: " + now};
}

}  // namespace vfiogate::sim
