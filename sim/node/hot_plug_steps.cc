#include "sim/node/discovery.h"
#include "sim/node/node.h"

#include <filesystem>
#include <fstream>

namespace vfiogate::sim {
namespace {

constexpr const char* kLate = "vfiogate.dev/1234_11e8";
constexpr const char* kPod = "vm-late";
/// A reconcile, two readings, and what is waited after a start.
constexpr std::chrono::seconds kReleasedWithin{40};

/// Of the host, by the machine's console; hot_plug.py does it.
void askHost(const std::string& what) {
  std::ofstream("/dev/console") << "MACHINE ask " + what + "\n" << std::flush;
}

std::size_t sockets(Node& node) {
  std::size_t count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(node.places().kubelet() + "/device-plugins")) {
    if (file.path().filename().string().starts_with("vfiogate-")) ++count;
  }
  return count;
}

/// Asks the host for the card and binds it. `told`: how long it took to come.
Act plug(Discovery& known, std::string& told) {
  const std::size_t before = known.events.count();
  const Act asked;
  askHost("plug late");
  const auto added = known.events.await(
      before,
      [](const KernelEvent& event) {
        const auto ids = event.fields.find("PCI_ID");
        return event.action == "add" && ids != event.fields.end() && ids->second == "1234:11E8";
      },
      kNewsWithin);
  if (!added) return {.problem = "no such device was added"};
  known.late = added->fields.at("PCI_SLOT_NAME");
  if (known.late != addressOf("late")) return {.problem = known.late + " is not where it belongs"};
  told = "added " + milliseconds(added->heard - asked.began) + " after asking the host; ";
  return bindToVfio(known.late);
}

Wanted lateIsHealthy() {
  return {kLate, [](const DeviceTable& devices) { return devices.allocatable() == 1; }};
}

Seen plugNewModel(Node& node, bool broken, Discovery& known) {
  const std::size_t before = sockets(node);
  if (node.kubelet().registrations(kLate) != 0) return {false, "registered before"};
  std::string told;
  const Seen news = awaitNews(
      node, broken, [&]() { return plug(known, told); }, lateIsHealthy());
  const bool own = sockets(node) == before + 1 && node.kubelet().registrations(kLate) == 1;
  return {news.seen && own, told + news.text + "; sockets " + std::to_string(sockets(node))};
}

Act unplug(Discovery& known) {
  const std::size_t before = known.events.count();
  Act act;
  askHost("unplug late");
  const auto gone = known.events.await(
      before, [&known](const KernelEvent& event) { return event.is("remove", known.late); },
      kNewsWithin);
  if (!gone) act.problem = known.late + " was not removed";
  act.ended = std::chrono::steady_clock::now();
  return act;
}

/// With what the kernel said about the card since `before`.
Seen withEvents(Seen seen, Discovery& known, std::size_t before) {
  seen.text += "; events of it: " + known.events.about(before, known.late);
  return seen;
}

Seen unplugIdle(Node& node, bool broken, Discovery& known) {
  const std::size_t before = known.events.count();
  const Seen news = awaitNews(
      node, broken, [&known]() { return unplug(known); }, exactly(kLate, {}, {known.late}));
  return withEvents(news, known, before);
}

Seen plugAgain(Node& node, bool broken, Discovery& known) {
  std::string told;
  const Seen news = awaitNews(
      node, broken, [&]() { return plug(known, told); }, exactly(kLate, {known.late}));
  return {news.seen, told + news.text};
}

/// A pod gets the card and its machine opens it. Why not; empty: it has.
std::string open(Node& node, Discovery& known, const std::string& uid) {
  PodSpec pod;
  pod.uid = uid;
  pod.containers.push_back({.name = "compute", .limits = {{kLate, 1}}});
  const Admission admission = node.kubelet().admit(pod);
  if (!admission.admitted) return admission.message;
  const ContainerStart start = node.kubelet().startContainer(uid, "compute");
  if (!start.started) return start.error;
  known.held = std::make_unique<HeldCard>(node.places().directory, groupOf(known.late), known.late,
                                          idsOf("late"));
  return known.held->isOpen() ? "" : known.held->output();
}

Seen hold(Node& node, bool broken, Discovery& known) {
  const std::string problem = broken ? "" : open(node, known, kPod);
  if (!problem.empty()) return {false, problem};
  const std::string enabled = enableOf(known.late);
  return {enabled == "1",
          "pod " + std::string(kPod) + ", enable of " + known.late + ": " + enabled};
}

/// The kernel waits for whoever has it open, tells nobody, and holds up no other news.
Seen unplugHeld(Node& node, bool broken, Discovery& known) {
  const std::size_t before = known.events.count();
  if (!broken) askHost("unplug late");
  const bool waits =
      becomes([&known]() { return driverOf(known.late) == "none" && enableOf(known.late) == "1"; },
              broken ? kUneventful : kNewsWithin);
  if (!waits) return {false, "driver " + driverOf(known.late)};
  const auto unbind = [&known]() { return unbindFromVfio(known.alone); };
  const auto bind = [&known]() { return bindToVfio(known.alone); };
  const Seen withdrawn = awaitNews(node, false, unbind, known.aloneIs(false));
  const Seen back = awaitNews(node, false, bind, known.aloneIs(true));
  const DeviceTable shown = node.kubelet().devices(kLate);
  const std::string events = known.events.about(before, known.late);
  const bool stays = shown.healthy() == std::set<std::string>{known.late} && events.empty();
  return {withdrawn.seen && back.seen && stays,
          "driver none, enable 1, events of it: " + (events.empty() ? "none" : events) + "; " +
              kLate + " " + frameText(shown) + "\n         another meanwhile: " + withdrawn.text +
              "\n         " + back.text};
}

Seen letGo(Node& node, bool broken, Discovery& known) {
  const std::size_t before = known.events.count();
  const auto close = [&known]() {
    Act act;
    if (known.held->close() != 0) act.problem = "vfio_open failed: " + known.held->output();
    act.ended = std::chrono::steady_clock::now();
    return act;
  };
  const Seen news = awaitNews(node, broken, close, exactly(kLate, {}, {known.late}));
  return withEvents(news, known, before);
}

/// A held card is healthy as soon as it is there; with a driver its machine can start again.
Seen plugBack(Node& node, bool broken, Discovery& known) {
  const Seen news = plugAgain(node, broken, known);
  return {news.seen && node.kubelet().allocated(kLate).contains(known.late), news.text};
}

Seen giveBack(Node& node, bool broken, Discovery& known) {
  const Act end;
  if (!broken) {
    node.kubelet().end(kPod);
    // The pod that was admitted last keeps its devices until another is.
    PodSpec another;
    another.uid = "without-devices";
    another.containers.push_back({.name = "compute", .limits = {}});
    node.kubelet().admit(another);
  }
  const bool released = node.plugind().saysAll({"\"event\":\"released\"", known.late}, 1,
                                               broken ? kUneventful : kReleasedWithin);
  if (!released) return {false, "not released"};
  const auto took = std::chrono::steady_clock::now() - end.began;
  const std::string problem = open(node, known, "vm-next");
  if (problem.empty()) known.held->close();
  return {problem.empty(), "released " + milliseconds(took) + " after the end, then granted to " +
                               "another pod and opened" + problem};
}

}  // namespace

std::vector<TourStep> hotPlugSteps(const std::shared_ptr<Discovery>& known) {
  return {
      discoveryStep(known, "plugged", "a card of a new model is plugged in by the host and bound",
                    plugNewModel),
      discoveryStep(known, "unplugged", "the host takes it away", unplugIdle),
      discoveryStep(known, "plugged-again", "the host plugs it in again, it is bound", plugAgain),
      discoveryStep(known, "held", "a pod gets it, its machine opens it", hold),
      discoveryStep(known, "held-unplugged", "the host takes it away while it is open: it stays",
                    unplugHeld),
      discoveryStep(known, "let-go", "its machine closes it: it is withdrawn", letGo),
      discoveryStep(known, "plugged-back", "it is plugged in again: it is still the pod's",
                    plugBack),
      discoveryStep(known, "given-back", "the pod ends: another gets it and opens it", giveBack)};
}

}  // namespace vfiogate::sim
