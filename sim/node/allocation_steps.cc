#include "sim/node/tour.h"

#include "sim/node/node.h"

#include <chrono>
#include <memory>
#include <sstream>

namespace vfiogate::sim {
namespace {

constexpr const char* kPod = "vm-shared";

std::string framesText(Node& node, const SharedGroup& group) {
  std::string text;
  for (const std::string& resource : {group.resource, group.otherResource}) {
    text +=
        (text.empty() ? "" : ", ") + resource + " " + frameText(node.kubelet().devices(resource));
  }
  return text;
}

bool showsFree(Node& node, const SharedGroup& group) {
  return node.kubelet().shows(group.resource, {group.card}) &&
         node.kubelet().shows(group.otherResource, {group.sibling});
}

bool showsAllocated(Node& node, const SharedGroup& group) {
  return node.kubelet().shows(group.resource, {group.card}) &&
         node.kubelet().shows(group.otherResource, {}, {group.sibling});
}

/// The pod gets the card and its machine opens it. Why not; empty: it has.
std::string allocate(Node& node, const CardUser& user, const SharedGroup& group) {
  PodSpec pod;
  pod.uid = kPod;
  pod.containers.push_back({.name = "compute", .limits = {{group.resource, 1}}});
  const Admission admission = node.kubelet().admit(pod);
  if (!admission.admitted) return admission.message;
  const ContainerStart start = node.kubelet().startContainer(kPod, "compute");
  return start.started ? user.open(node, group.card) : start.error;
}

/// Asks past the kubelet's own checks, as one that has not seen the frame yet.
Seen seeRefused(Node& node, const std::string& resource, const std::string& card) {
  std::string error;
  node.kubelet().offer(resource, {card}, error);
  // Which card, and the reference of who has its group.
  const bool told =
      error.find(card) != std::string::npos && error.find("ref=") != std::string::npos;
  return {told, "\n         " + card + (error.empty() ? ": granted" : ": " + error)};
}

Seen withdraw(Node& node, const CardUser& user, bool broken, const SharedGroup& group) {
  if (!showsFree(node, group)) return {false, framesText(node, group)};
  const std::string problem = broken ? "" : allocate(node, user, group);
  if (!problem.empty()) return {false, problem};
  if (!showsAllocated(node, group)) return {false, framesText(node, group)};
  const std::string frames = framesText(node, group);
  const Seen sibling = seeRefused(node, group.otherResource, group.sibling);
  const Seen again = seeRefused(node, group.resource, group.card);
  return {sibling.seen && again.seen, frames + sibling.text + again.text};
}

/// The pod that was admitted last keeps its devices after its end until another is.
void endPod(Node& node) {
  node.kubelet().end(kPod);
  PodSpec another;
  another.uid = "without-devices";
  another.containers.push_back({.name = "compute", .limits = {}});
  node.kubelet().admit(another);
}

Seen release(Node& node, const CardUser& user, bool broken, const SharedGroup& group) {
  const auto began = std::chrono::steady_clock::now();
  endPod(node);
  if (broken) {  // the machine runs on: vfiogate knows the pod's end, and keeps the group
    const bool told = node.plugind().says("\"event\":\"released-open\"");
    return {false, (told ? "still open: " : "not told: ") + framesText(node, group)};
  }
  const std::string problem = user.close(node);
  if (!problem.empty()) return {false, problem};
  // Twice the patience: it takes a List, two reconciles 5 s apart and two readings.
  const bool seen = showsFree(node, group) || showsFree(node, group);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::ostringstream text;
  text.precision(3);
  text << "free " << took.count() << " s after the end: " << framesText(node, group);
  return {seen, text.str()};
}

}  // namespace

std::vector<TourStep> allocationSteps(const std::function<SharedGroup()>& group,
                                      const CardUser& user) {
  const auto shared = std::make_shared<SharedGroup>();
  return {
      {"withdrawn", "a pod gets one card of a shared group: the other is withdrawn, refused",
       [group, user, shared](Node& node, bool broken) {
         *shared = group();
         return withdraw(node, user, broken, *shared);
       }},
      {"released", "the pod ends, its machine closes the card: the group is free by itself",
       [user, shared](Node& node, bool broken) { return release(node, user, broken, *shared); }}};
}

}  // namespace vfiogate::sim
