// The steps: pods that come and go, commands, and kills.

#include "tests/integration/bind/interleavings.h"

#include "ipc/base/hex.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <string_view>

namespace vfiogate::test {
namespace {

constexpr std::size_t kMostCommands = 6;
constexpr std::size_t kMostPods = 8;
constexpr unsigned kMostReads = 40;

const std::set<std::string> kPair{"0000:1f:00.0", "0000:1f:00.1"};

/// All members of the group of a device.
std::set<std::string> groupOf(const std::string& device) {
  return kPair.contains(device) ? kPair : std::set<std::string>{device};
}

/// "operator-excluded", "no healthy devices present": without what differs each time.
std::string reasonOfRejection(std::string message) {
  constexpr std::string_view kEnd = ", which is unexpected";
  if (message.ends_with(kEnd)) message.resize(message.size() - kEnd.size());
  const std::size_t at = message.rfind(", ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

}  // namespace

std::vector<std::string> Interleavings::devices() {
  std::vector<std::string> all(kPair.begin(), kPair.end());
  for (unsigned slot = 1; slot < 0x1f; ++slot)
    all.push_back("0000:" + hexDigits(slot, 2) + ":00.0");
  std::ranges::sort(all);
  return all;
}

const std::vector<Interleavings::NamedAct>& Interleavings::acts() {
  static const std::vector<NamedAct> list{{"admit", 26, &Interleavings::admit},
                                          {"end a pod", 12, &Interleavings::endPod},
                                          {"commands", 34, &Interleavings::beginCommands},
                                          {"kill a command", 12, &Interleavings::killCommand},
                                          {"kill privd", 3, &Interleavings::killPrivd},
                                          {"kill plugind", 3, &Interleavings::killPlugind},
                                          {"kill both", 2, &Interleavings::killBoth},
                                          {"start them", 24, &Interleavings::startPrograms},
                                          {"wait", 6, &Interleavings::waitForCommands}};
  return list;
}

void Interleavings::begin(unsigned seed) {
  random_.seed(seed);
  node_->kubelet.start();
  startPrograms();
  // The pair is offered as one.
  ASSERT_TRUE(node_->kubelet.await(kCards, [this](const sim::DeviceTable& shown) {
    return shown.healthy().size() == devices_.size() - 1;
  })) << node_->said();
}

void Interleavings::step() {
  unsigned sum = 0;
  for (const NamedAct& each : acts()) sum += each.weight;
  unsigned left = any(sum);
  for (const NamedAct& each : acts()) {
    if (left < each.weight) {
      SCOPED_TRACE(each.name);
      (this->*each.act)();
      return check();
    }
    left -= each.weight;
  }
}

std::string Interleavings::holderOf(const std::string& device) const {
  for (const auto& [uid, has] : pods_) {
    if (has.contains(device)) return uid;
  }
  return {};
}

std::string Interleavings::anyDevice() {
  if (!pods_.empty() && any(2) == 0) {
    const auto pod = std::next(pods_.begin(), any(pods_.size()));
    return *std::next(pod->second.begin(), any(pod->second.size()));
  }
  return devices_.at(any(devices_.size()));
}

/// Its Allocate may meet the commands that were just begun.
void Interleavings::admit() {
  if (any(2) == 0) beginCommand();
  if (pods_.size() >= kMostPods) endPod();
  const std::string uid = "p" + std::to_string(++lastPod_);
  const auto admission = node_->kubelet.admit(podOf(uid, kCards));
  if (!admission.admitted) {
    EXPECT_NE(admission.message, "");
    ++said_["not admitted: " + reasonOfRejection(admission.message)];
    return;
  }
  ++allocated_;
  check();  // from now on it has its device
  for (const auto& granted : admission.granted) {
    for (const std::string& id : granted.ids) pods_[uid].merge(groupOf(id));
  }
}

void Interleavings::endPod() {
  if (pods_.empty()) return;
  check();  // until now it had its devices
  const auto pod = std::next(pods_.begin(), any(pods_.size()));
  node_->kubelet.end(pod->first);
  pods_.erase(pod);
}

void Interleavings::beginCommands() {
  for (auto count = 1 + any(4); count > 0; --count) beginCommand();
}

void Interleavings::beginCommand() {
  if (commands_.size() >= kMostCommands) finishOldest();
  static const std::vector<std::string> verbs{"bind",   "bind",   "bind", "unbind",  "unbind",
                                              "unbind", "unbind", "hold", "release", "release"};
  Command next{.verb = verbs.at(any(verbs.size())), .device = anyDevice()};
  next.holder = holderOf(next.device);
  std::vector<std::string> words{next.verb, next.device};
  if (next.verb == "hold") words.insert(words.end(), {"--reason", "interleaved"});
  next.process = std::make_unique<ChildProcess>(command(words), filteredEnvironment());
  commands_.push_back(std::move(next));
}

/// At a random moment of its life.
void Interleavings::killCommand() {
  beginCommand();
  for (unsigned reads = any(kMostReads); reads > 0; --reads)
    (void)driverOf(commands_.back().device);
  commands_.back().process->signal(SIGKILL);
  commands_.back().killed = true;
}

/// All of it, or one of its roles, with which the others end.
void Interleavings::killPrivd() {
  const std::size_t which = any(SplitNode::kRoles.size() + 1);
  if (!node_->privd || which == SplitNode::kRoles.size()) return node_->killPrivd();
  node_->killWithRole(SplitNode::kRoles.at(which));
}

void Interleavings::killPlugind() {
  node_->killPlugind();
}

void Interleavings::killBoth() {
  killPrivd();
  killPlugind();
}

void Interleavings::startPrograms() {
  ASSERT_TRUE(node_->plugind || startPlugind()) << node_->said();
  const std::vector<std::string> declared{"--declare", devices_.front() + "=8086:4940"};
  if (!node_->privd) startAgain("vendor=8086", "1", declared);
}

void Interleavings::waitForCommands() {
  while (!commands_.empty()) finishOldest();
}

void Interleavings::finishOldest() {
  Command oldest = std::move(commands_.front());
  commands_.erase(commands_.begin());
  finish(oldest);
}

}  // namespace vfiogate::test
