#include "sim/base/process_status.h"
#include "sim/node/discovery.h"
#include "sim/node/tour.h"

#include <filesystem>
#include <utility>

namespace vfiogate::sim {
namespace {

// The resources of tests/machine/guest/discovery.yaml; the devices are named as in machine.sh.
constexpr const char* kDisplay = "vfiogate.dev/display";
constexpr const char* kVolume = "vfiogate.dev/volume";

Seen seeRegistered(Node& node, bool broken, Discovery& known) {
  known.processes = processesOf(node);
  const Act none;
  const std::string unheard = broken ? "-unheard-of" : "";  // there is no such resource
  const Seen display = awaitNews(
      node, broken, [&none]() { return none; }, exactly(kDisplay + unheard, {known.display}));
  if (!display.seen) return display;
  const Seen network = awaitNews(
      node, broken, [&none]() { return none; }, known.aloneIs(false));
  return {network.seen, display.text + "\n         " + network.text};
}

Seen removeAndWatch(Node& node, bool broken, Discovery& known) {
  const auto remove = [&known]() {
    return writeAttribute("devices/" + known.alone + "/remove", "1");
  };
  return awaitNews(node, broken, remove, known.aloneIs(false));
}

/// It comes back to its host driver, its override forgotten.
Seen rescanAndBind(Node& node, bool broken, Discovery& known) {
  const auto rescan = [&known]() {
    const Act found = writeAttribute("rescan", "1");
    return found.problem.empty() ? bindToVfio(known.alone) : found;
  };
  return awaitNews(node, broken, rescan, known.aloneIs(true));
}

/// A group with a member on a host driver is no machine's.
Seen takeSibling(Node& node, bool broken, Discovery& known) {
  const auto take = [&known]() {
    const std::string override = "devices/" + known.right + "/driver_override";
    for (const Act& act : {unbindFromVfio(known.right), writeAttribute(override, "\n")}) {
      if (!act.problem.empty()) return act;
    }
    return writeAttribute("drivers_probe", known.right);
  };
  return awaitNews(node, broken, take, exactly(kNetwork, {known.alone}, {known.left}));
}

Seen bindSibling(Node& node, bool broken, Discovery& known) {
  return awaitNews(
      node, broken, [&known]() { return bindToVfio(known.right); }, known.aloneIs(true));
}

std::string functionAttribute(const Discovery& known, const std::string& name) {
  return "devices/" + known.storage + "/" + name;
}

/// Without a driver, as for machines; then each is bound.
Act makeFunctions(Discovery& known, std::set<std::string>& functions) {
  const std::size_t before = known.events.count();
  run({"/bin/modprobe", "nvme"});
  const auto driven = known.events.await(
      before, [&known](const KernelEvent& event) { return event.is("bind", known.storage); },
      kNewsWithin);
  if (!driven) return {.problem = "no driver took " + known.storage};
  Act act = writeAttribute(functionAttribute(known, "sriov_drivers_autoprobe"), "0");
  if (act.problem.empty()) act = writeAttribute(functionAttribute(known, "sriov_numvfs"), "2");
  for (const char* link : {"virtfn0", "virtfn1"}) {
    std::error_code none;
    const auto target =
        std::filesystem::read_symlink("/sys/bus/pci/" + functionAttribute(known, link), none);
    if (!act.problem.empty()) break;
    functions.insert(target.filename());
    act = bindToVfio(target.filename());
  }
  return act;
}

Seen seeFunctions(Node& node, bool broken, Discovery& known) {
  std::set<std::string> functions;
  const Seen news =
      awaitNews(node, broken, [&]() { return makeFunctions(known, functions); },
                {kVolume, [](const DeviceTable& devices) { return devices.allocatable() == 2; }});
  return {news.seen && node.kubelet().devices(kVolume).healthy() == functions, news.text};
}

Seen endFunctions(Node& node, bool broken, Discovery& known) {
  const auto end = [&known]() {
    return writeAttribute(functionAttribute(known, "sriov_numvfs"), "0");
  };
  return awaitNews(node, broken, end, {kVolume, [](const DeviceTable& devices) {
                                         return devices.allocatable() == 0 &&
                                                devices.capacity() == 2;
                                       }});
}

/// What the kubelet is shown once `left` has this NUMA node; -1: none.
Wanted leftOnNode(const Discovery& known, long number) {
  return {kNetwork, [left = known.left, number](const DeviceTable& devices) {
            return devices.nodesOf(left) == std::vector<long>{number};
          }};
}

/// A change that the kernel tells nobody of.
struct Untold {
  std::string problem;  ///< empty: done
  Wanted news;          ///< what is shown once privd looks for it
};

/// Privd sweeps once more after a burst of events, so that a change right after one is shown
/// though nobody told of it. So the NUMA node is changed until that stays unseen.
Untold changeUntold(Node& node, const Discovery& known) {
  const std::string attribute = "devices/" + known.left + "/numa_node";
  for (const long number : {0, -1, 0, -1, 0}) {
    const Act written = writeAttribute(attribute, std::to_string(number));
    if (!written.problem.empty()) return {.problem = written.problem, .news = {}};
    Wanted news = leftOnNode(known, number);
    if (!node.kubelet().await(kNetwork, news.holds, kUneventful)) {
      return {.problem = {}, .news = std::move(news)};
    }
  }
  return {.problem = "each NUMA node was shown, and no event told of it", .news = {}};
}

/// There is something to see that the kernel told nobody of; the forgery must not make privd look
/// for it, and the kernel's own event must.
Seen forge(Node& node, bool broken, Discovery& known) {
  Untold change;
  if (!broken) {
    change = changeUntold(node, known);
    if (!change.problem.empty()) return {false, change.problem};
    const std::string problem =
        forgeEvent(test::childRunning(node.privd().pid(), "privd-hardware"));
    if (!problem.empty()) return {false, problem};
  }
  const bool told =
      node.privd().saysAll({"event=uevent_foreign"}, 1, broken ? kUneventful : kNewsWithin);
  if (!told) return {false, "privd heard nothing foreign"};
  if (node.kubelet().await(kNetwork, change.news.holds, kUneventful)) return {false, "believed"};
  const auto tell = [&known]() {
    return writeAttribute("devices/" + known.left + "/uevent", "change");
  };
  const Seen news = awaitNews(node, false, tell, change.news);
  return {news.seen, "the forgery was counted and changed nothing; the kernel's own: " + news.text};
}

}  // namespace

std::vector<TourStep> discoveryTour() {
  const auto known = std::make_shared<Discovery>();
  const auto step = [&known](const char* name, const char* title, DiscoveryAct act) {
    return discoveryStep(known, name, title, act);
  };
  const DiscoveryAct bind = [](Node& node, bool broken, Discovery& of) {
    return awaitNews(
        node, broken, [&of]() { return bindToVfio(of.alone); }, of.aloneIs(true));
  };
  const DiscoveryAct unbind = [](Node& node, bool broken, Discovery& of) {
    return awaitNews(
        node, broken, [&of]() { return unbindFromVfio(of.alone); }, of.aloneIs(false));
  };
  std::vector<TourStep> steps{
      step("registered", "two resources at the start, one card on its host driver", seeRegistered),
      step("bound-late", "that card is bound to vfio-pci", bind),
      step("unbound", "it is unbound", unbind),
      step("bound-again", "it is bound again", bind),
      step("removed", "it is removed through sysfs", removeAndWatch),
      step("rescanned", "the bus is scanned, it is bound", rescanAndBind),
      step("sibling-taken", "a host driver takes a card of another's group", takeSibling),
      step("sibling-back", "it is bound to vfio-pci again", bindSibling),
      step("functions", "virtual functions are made and bound", seeFunctions),
      step("no-functions", "they are no more", endFunctions),
      step("forged", "another process forges a kernel event: counted, not believed", forge)};
  const std::vector<TourStep> plugging = hotPlugSteps(known);
  steps.insert(steps.end() - 3, plugging.begin(), plugging.end());
  steps.push_back({"same-streams", "every stream is the one that was opened first",
                   [](Node& node, bool broken) { return sameStreams(node, broken, kNetwork); },
                   true});
  steps.push_back(
      {"same-processes", "no daemon was restarted",
       [known](Node& node, bool broken) { return sameProcesses(node, broken, known->processes); },
       true});
  return steps;
}

}  // namespace vfiogate::sim
