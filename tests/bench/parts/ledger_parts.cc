#include "tests/bench/parts/ledger_parts.h"

#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/kubelet/list_watch_stream.h"
#include "tests/bench/node_under_test.h"
#include "tests/support/ledger_node.h"

#include <chrono>
#include <utility>

namespace vfiogate::bench {
namespace {

constexpr const char* kResource = "gpu";

/// Devices of one resource, each alone in its group.
class NodeOfCards {
public:
  NodeOfCards(unsigned devices, unsigned held) {
    for (unsigned number = 0; number < devices; ++number) {
      node.hardware.add(addressOf(number), number);
    }
    node.offer("device=2684", kResource);
    node.start();
    for (unsigned number = 0; number < held; ++number) {
      node.allocate(kResource, {addressOf(number)});
      node.record("pod-" + std::to_string(number), kResource, {addressOf(number)});
      node.write();
      node.pass(std::chrono::milliseconds(100));
    }
    node.pass(std::chrono::seconds(20));
    saved = node.ledger;
  }

  test::LedgerNode node;
  Ledger saved{{}};
};

class Allocate final : public Running {
public:
  Allocate(unsigned devices, unsigned held)
      : cards_(devices, held),
        id_(addressOf(held)),
        group_(held),
        shown_{.devices = {{id_, true, std::nullopt}}},
        reading_(cards_.node.reread(group_)) {}

  void prepare() override { cards_.node.ledger = cards_.saved; }

  void run() override {
    Ledger& ledger = cards_.node.ledger;
    const Moment now = cards_.node.now;
    const CallId call(1'000'000);
    const Effects asked =
        ledger.allocateAsked(call, {test::resource(kResource), {id_}, shown_}, now);
    if (asked.questions.size() != 1) giveUp("the ledger asks for no reading of the group");
    const Effects answered = ledger.groupRead(group_, reading_, call, now);
    if (answered.answers.size() != 1 || !answered.answers[0].response) giveUp("no device is given");
    if (!ledger.nextDeadline()) giveUp("nothing is due");
  }

private:
  NodeOfCards cards_;
  std::string id_;
  IommuGroupId group_;
  Frame shown_;
  GroupReading reading_;
};

class Refused final : public Running {
public:
  explicit Refused(unsigned devices) : cards_(devices, 7) {}

  void prepare() override { cards_.node.ledger = cards_.saved; }

  void run() override {
    Ledger& ledger = cards_.node.ledger;
    const AllocateRequest request{test::resource(kResource), {"0000:ff:1f.7"}, {}};
    const Effects answered = ledger.allocateAsked(CallId(1'000'000), request, cards_.node.now);
    if (answered.answers.size() != 1 || !answered.answers[0].refusal) giveUp("it is not refused");
    if (!ledger.nextDeadline()) giveUp("nothing is due");
  }

private:
  NodeOfCards cards_;
};

class Change final : public Running {
public:
  explicit Change(unsigned devices) : cards_(devices, 0), changed_(addressOf(devices / 2)) {}

  void prepare() override {
    cards_.node.ledger = cards_.saved;
    PciDevice& device = cards_.node.hardware.device(changed_);
    device.driver = "nouveau";
    device.vfioDev.reset();
    device.cdevNode = false;
    facts_ = cards_.node.facts;
    facts_.snapshot = cards_.node.hardware.snapshot();
  }

  void run() override {
    const auto catalog = sortIntoResources(cards_.node.settings, facts_.snapshot);
    Ledger& ledger = cards_.node.ledger;
    const Effects seen = ledger.hardwareSeen(facts_, catalog, cards_.node.now);
    const auto frame = seen.frames.find(test::resource(kResource));
    if (frame == seen.frames.end()) giveUp("the change is not shown");
    if (toMessage(frame->second)->message.devices_size() == 0) giveUp("the frame is empty");
  }

private:
  NodeOfCards cards_;
  std::string changed_;
  HardwareFacts facts_;
};

class Preferred final : public Running {
public:
  explicit Preferred(unsigned devices) {
    for (unsigned number = 0; number < devices; ++number) {
      question_.available.insert(addressOf(number));
      known_[addressOf(number)] = {.numaNode = number % 2,
                                   .group = IommuGroupId(number),
                                   .root = "pci0000:" + std::to_string(number % 8)};
    }
    question_.size = 8;
  }

  void run() override {
    if (preferredDevices(question_, known_).size() != question_.size) giveUp("too few are chosen");
  }

private:
  PreferredRequest question_;
  std::map<std::string, Candidate> known_;
};

}  // namespace

std::unique_ptr<Running> startAllocate(unsigned devices, unsigned held) {
  return std::make_unique<Allocate>(devices, held);
}

std::unique_ptr<Running> startRefused(unsigned devices) {
  return std::make_unique<Refused>(devices);
}

std::unique_ptr<Running> startChange(unsigned devices) {
  return std::make_unique<Change>(devices);
}

std::unique_ptr<Running> startPreferred(unsigned devices) {
  return std::make_unique<Preferred>(devices);
}

}  // namespace vfiogate::bench
