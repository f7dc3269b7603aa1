// The operations in which processes are killed, and the pods that they are about.

#include "tests/integration/faults/fault_lane.h"

#include "plugind/core/timing.h"
#include "sim/base/process_status.h"

#include <kj/io.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>

namespace vfiogate::test {
namespace {

constexpr const char* kMarker = "0000:00:1f.0";
constexpr std::size_t kMostPods = 4;
constexpr std::size_t kMostDeleted = 2;
constexpr int kMostTries = 20;

template <typename Container>
auto pickFrom(const Container& container, std::minstd_rand& random) {
  return *std::next(container.begin(), static_cast<std::ptrdiff_t>(random() % container.size()));
}

/// Its pod may run still, as far as plugind can tell: known to a kubelet and a plugind that died
/// together.
bool refusedAsForgotten(const sim::Admission& admission) {
  return !admission.admitted && admission.message.find(", forgotten, ref=") != std::string::npos;
}

/// None of one that was killed meanwhile.
std::vector<OpenDescriptor> descriptorsOf(pid_t process) {
  try {
    return openDescriptors(process);
  } catch (const std::filesystem::filesystem_error&) {
    return {};
  }
}

/// Cuts plugind's channels with gate and binder, the sockets of their kind.
void endSession(pid_t plugind) {
  for (const OpenDescriptor& held : descriptorsOf(plugind)) {
    const kj::AutoCloseFd copy(held.kind == S_IFSOCK ? copyOf(plugind, held.fd) : -1);
    int type = 0;
    socklen_t size = sizeof(type);
    const bool isSocket =
        copy.get() >= 0 && getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    if (isSocket && type == SOCK_SEQPACKET) shutdown(copy, SHUT_RDWR);
  }
}

}  // namespace

void FaultLane::prepare(Operation operation) {
  for (const std::string& uid : order_) {
    if (!books_.pods().at(uid).started) start(uid);
  }
  while (order_.size() >= kMostPods) {
    if (random_() % 3 == 0) {
      forceDeleteOldest();
    } else {
      endOldest();
    }
  }
  if (!deleted_.empty() && random_() % 2 == 0) covetDeleted();
  const bool allocates = operation == Operation::kAllocate || operation == Operation::kAdopt;
  if (allocates) awaitAllocatable();
  choosePod();
  if (operation == Operation::kPreStart) admitSomewhere();
  if (operation == Operation::kAdopt) {
    bringBack(Victim::kPlugind);
    awaitStreams();
    fail(books_.imbalance(node_.kubelet, patience_));
  }
}

/// A pod that gets a device. Whom a kubelet and a plugind that died together both knew may run
/// still: its device is refused, and another one is asked for.
void FaultLane::admitSomewhere() {
  for (int tries = 1; failure_.empty(); ++tries) {
    awaitAllocatable();
    choosePod();
    admission_ = node_.kubelet.admit(pod_);
    concludeAdmission();
    if (admission_.admitted) return;
    if (!refusedAsForgotten(admission_) || tries == kMostTries)
      return fail("without a kill: " + admission_.message);
  }
}

/// A lane that kills faster than groups come back has none left: the kubelet refuses rightly then.
void FaultLane::awaitAllocatable() {
  if (!books_.allocatable().empty()) return;
  const auto until = std::chrono::steady_clock::now() + timing::kNeverNamed + timing::kSettling +
                     timing::kListInterval + 4 * timing::kReconcileInterval;
  awaitReturned(until, [this]() { return !books_.allocatable().empty(); });
}

/// One device, whose group nobody has; that which an ended pod had where there is no other.
void FaultLane::choosePod() {
  const std::set<unsigned> free = books_.allocatable();
  std::vector<std::string> ids;
  for (const auto& [id, device] : books_.devices()) {
    if (free.contains(device.group)) ids.push_back(id);
  }
  if (ids.empty()) std::ranges::copy(books_.leaving(), std::back_inserter(ids));
  if (ids.empty()) return fail("no group is left");
  choosePod(pickFrom(ids, random_));
}

void FaultLane::choosePod(const std::string& id) {
  target_ = id;
  const auto at = books_.devices().find(target_);
  const std::string uid = "p" + std::to_string(++lastPod_);
  pod_ = podOf(uid, at->second.resource);
  // A NUMA node for each device (layOut()).
  pod_.containers[0].alignTo = {static_cast<long>(std::distance(books_.devices().begin(), at))};
}

void FaultLane::operate(Operation operation, pid_t plugind) {
  switch (operation) {
    case Operation::kRegister: {
      const std::lock_guard lock(kubeletStarts_);
      node_.kubelet.restart();
      books_.kubeletRestarted();
      break;
    }
    case Operation::kAllocate:
    case Operation::kAdopt:
      admission_ = node_.kubelet.admit(pod_);
      strikeIfArmed(kRecorded);
      break;
    case Operation::kPreStart:
      startError_ = node_.kubelet.startContainer(pod_.uid, "compute").started ? "" : "failed";
      break;
    case Operation::kFrame:
      node_.hardware.setAttribute(kMarker, "numa_node", std::to_string(++marker_));
      break;
    case Operation::kStreamEnd:
      node_.kubelet.dropStream(books_.devices().begin()->second.resource);
      break;
    case Operation::kEnter:
      endSession(plugind);
      break;
  }
}

void FaultLane::conclude(Operation operation) {
  if (operation == Operation::kAllocate || operation == Operation::kAdopt) {
    // A kubelet that comes back admits again whom it knows nothing of.
    if (admission_.kubeletDied) admission_ = node_.kubelet.admit(pod_);
    concludeAdmission();
  }
  if (operation != Operation::kPreStart) return;
  if (startError_.empty()) return runs(pod_.uid);
  start(pod_.uid);  // as the real one does after 10 s
}

void FaultLane::concludeAdmission() {
  if (!admission_.admitted) {
    books_.disturbed(target_);
    return;
  }
  std::set<std::string> ids;
  for (const auto& record : node_.kubelet.records()) {
    if (record.podUid != pod_.uid) continue;
    for (const auto& [node, some] : record.devices) ids.insert(some.begin(), some.end());
  }
  if (ids.empty()) return fail("I4: " + pod_.uid + " was admitted without a device");
  books_.granted(pod_.uid, pod_.containers[0].limits.begin()->first, ids);
  order_.push_back(pod_.uid);
  ++grants_;
}

void FaultLane::start(const std::string& uid) {
  const auto started = node_.kubelet.startContainer(uid, "compute");
  if (!started.started) return fail("I4: " + uid + " does not start: " + started.error);
  runs(uid);
}

void FaultLane::runs(const std::string& uid) {
  for (const std::string& id : books_.pods().at(uid).ids) node_.hardware.setEnable(id, 1);
  books_.started(uid);
}

void FaultLane::endOldest() {
  const std::string uid = order_.front();
  order_.erase(order_.begin());
  close(uid);
}

void FaultLane::close(const std::string& uid) {
  for (const std::string& id : books_.pods().at(uid).ids) node_.hardware.setEnable(id, 0);
  node_.kubelet.end(uid);
  books_.ended(uid);
}

void FaultLane::forceDeleteOldest() {
  deleted_.push_back(order_.front());
  order_.erase(order_.begin());
  node_.kubelet.forceDelete(deleted_.back());
  books_.forceDeleted(deleted_.back());
  if (deleted_.size() <= kMostDeleted) return;
  close(deleted_.front());
  deleted_.erase(deleted_.begin());
}

void FaultLane::covetDeleted() {
  choosePod(*books_.pods().at(deleted_.back()).ids.begin());
  admission_ = node_.kubelet.admit(pod_);
  // Refused, or the kubelet knew better and took another one.
  concludeAdmission();
  if (admission_.admitted) return start(pod_.uid);
  if (admission_.message.find("still-open") != std::string::npos) ++refusedOpen_;
}

bool FaultLane::awaitReturned(std::chrono::steady_clock::time_point until,
                              const std::function<bool()>& enough) {
  while (std::chrono::steady_clock::now() < until) {
    fail(books_.imbalance(node_.kubelet, patience_));
    if (enough() || !failure_.empty()) return true;
    // Whatever comes: the group's other function is Healthy again when it is free.
    const std::string left = *books_.leaving().begin();
    const auto& device = books_.devices().at(left);
    for (const auto& entry : books_.devices()) {
      const std::string& id = entry.first;
      if (entry.second.group != device.group || id == left) continue;
      const auto isBack = [&id](const sim::DeviceTable& shown) {
        return shown.healthy().contains(id);
      };
      node_.kubelet.await(entry.second.resource, isBack, std::chrono::seconds(1));
    }
  }
  return enough();
}

void FaultLane::settle() {
  using namespace timing;
  while (!order_.empty()) endOldest();
  for (; !deleted_.empty(); deleted_.pop_back()) close(deleted_.back());
  // The kubelet protects the pod last admitted.
  node_.kubelet.admit({.uid = "last", .initContainers = {}, .containers = {{"compute", {}}}});
  const auto now = std::chrono::steady_clock::now;
  const auto all = [this]() { return books_.leaving().empty(); };
  if (awaitReturned(now() + kListInterval + 2 * kReconcileInterval + kReadingGap, all)) return;
  // What a new kubelet never knew is let go after minutes; it may give it away all the same.
  for (const std::string& id : books_.leaving()) {
    choosePod(id);
    admission_ = node_.kubelet.admit(pod_);
    concludeAdmission();
    if (refusedAsForgotten(admission_)) continue;  // it comes back with the others, below
    if (!admission_.admitted) return fail("live: " + id + " is refused: " + admission_.message);
    start(pod_.uid);
    if (!failure_.empty()) return;
    endOldest();
  }
  node_.kubelet.admit({.uid = "last", .initContainers = {}, .containers = {{"compute", {}}}});
  // A named one that this kubelet forgot waits longest: List settles, then lacks its pod twice.
  const auto last = now() + kListSettles + kLetGoGap + kListInterval + 4 * kReconcileInterval;
  if (awaitReturned(last, all)) return;
  fail("live: " + *books_.leaving().begin() + " does not come back");
}

}  // namespace vfiogate::test
