#include "tests/bench/parts/ledger_parts.h"

#include "plugind/core/ledger/locality.h"
#include "plugind/core/resource/preferred_allocation.h"
#include "plugind/kubelet/list_watch_stream.h"
#include "tests/bench/node_under_test.h"
#include "tests/support/ledger_node.h"

#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

namespace vfiogate::bench {
namespace {

std::string nameOf(unsigned resource) {
  return "gpu-" + std::to_string(resource);
}

/// Devices in groups of one size, spread over resources.
class NodeOfCards {
public:
  explicit NodeOfCards(const NodeShape& shape) : shape_(shape) {
    for (unsigned number = 0; number < shape.devices; ++number) {
      const unsigned group = number / shape.membersPerGroup;
      PciDevice& card = node.hardware.add(addressOf(number), group);
      card.device = kFirstModel + group % shape.resources;
      card.numaNode = number % 2;
      card.pcieRoot = "pci0000:" + std::to_string(number % 8);
    }
    for (unsigned resource = 0; resource < shape.resources; ++resource) {
      std::ostringstream select;
      select << "device=" << std::hex << kFirstModel + resource;
      node.offer(select.str(), nameOf(resource));
    }
    node.start();
    for (unsigned group = 0; group < shape.held; ++group) {
      node.allocate(resourceOf(group), {cardOf(group)});
      node.record("pod-" + std::to_string(group), resourceOf(group), {cardOf(group)});
      node.write();
      node.pass(std::chrono::milliseconds(100));
    }
    node.pass(std::chrono::seconds(20));
    for (unsigned open = 0; open < shape.open; ++open) {
      const unsigned group = shape.held + 1 + open;
      node.ledger.allocateAsked(CallId(kOpenCalls + open), question(group), node.now);
    }
    saved = node.ledger;
  }

  std::string cardOf(unsigned group) const { return addressOf(group * shape_.membersPerGroup); }
  std::string resourceOf(unsigned group) const { return nameOf(group % shape_.resources); }
  AllocateRequest question(unsigned group) const {
    return {test::resource(resourceOf(group)),
            {cardOf(group)},
            {.devices = {{cardOf(group), true, std::nullopt}}}};
  }

  test::LedgerNode node;
  Ledger saved{{}};

private:
  static constexpr std::uint16_t kFirstModel = 0x2684;
  static constexpr unsigned kOpenCalls = 2'000'000;

  NodeShape shape_;
};

class Allocate final : public Running {
public:
  explicit Allocate(const NodeShape& shape)
      : cards_(shape), group_(shape.held), reading_(cards_.node.reread(group_)) {}

  void prepare() override { cards_.node.ledger = cards_.saved; }

  void run() override {
    Ledger& ledger = cards_.node.ledger;
    const Moment now = cards_.node.now;
    const CallId call(1'000'000);
    const Effects asked = ledger.allocateAsked(call, cards_.question(group_.number()), now);
    if (asked.questions.size() != 1) giveUp("the ledger asks for no reading of the group");
    const Effects answered = ledger.groupRead(group_, reading_, call, now);
    if (answered.answers.size() != 1 || !answered.answers[0].response) giveUp("no device is given");
    if (!ledger.nextDeadline()) giveUp("nothing is due");
  }

private:
  NodeOfCards cards_;
  IommuGroupId group_;
  GroupReading reading_;
};

class Refused final : public Running {
public:
  explicit Refused(const NodeShape& shape) : cards_(shape) {}

  void prepare() override { cards_.node.ledger = cards_.saved; }

  void run() override {
    Ledger& ledger = cards_.node.ledger;
    const AllocateRequest request{test::resource(nameOf(0)), {"0000:ff:1f.7"}, {}};
    const Effects answered = ledger.allocateAsked(CallId(1'000'000), request, cards_.node.now);
    if (answered.answers.size() != 1 || !answered.answers[0].refusal) giveUp("it is not refused");
    if (!ledger.nextDeadline()) giveUp("nothing is due");
  }

private:
  NodeOfCards cards_;
};

class Change final : public Running {
public:
  Change(const NodeShape& shape, unsigned changed) : cards_(shape) {
    for (unsigned number = 0; number < changed; ++number) {
      PciDevice& device = cards_.node.hardware.device(addressOf(shape.devices - 1 - number));
      device.driver = "nouveau";
      device.vfioDev.reset();
      device.cdevNode = false;
    }
    facts_ = cards_.node.facts;
    facts_.snapshot = cards_.node.hardware.snapshot();
  }

  void prepare() override { cards_.node.ledger = cards_.saved; }

  void run() override {
    const auto catalog = sortIntoResources(cards_.node.settings, facts_.snapshot);
    const Effects seen = cards_.node.ledger.hardwareSeen(facts_, catalog, cards_.node.now);
    if (seen.frames.empty()) giveUp("the change is not shown");
    for (const auto& [resource, frame] : seen.frames) {
      if (toMessage(frame)->message.devices_size() == 0) giveUp("a frame is empty");
    }
  }

private:
  NodeOfCards cards_;
  HardwareFacts facts_;
};

class Preferred final : public Running {
public:
  explicit Preferred(const NodeShape& shape) : cards_(shape) {
    for (unsigned number = 0; number < shape.devices; ++number) {
      question_.available.insert(addressOf(number));
    }
    question_.size = 8;
  }

  void run() override {
    const test::LedgerNode& node = cards_.node;
    const Locality locality =
        localityOf(node.ledger.state(), test::resource(nameOf(0)), node.now.instant);
    if (preferredDevices(question_, locality.candidates).size() != question_.size) {
      giveUp("too few are chosen");
    }
  }

private:
  NodeOfCards cards_;
  PreferredRequest question_;
};

}  // namespace

std::unique_ptr<Running> startAllocate(const NodeShape& shape) {
  return std::make_unique<Allocate>(shape);
}

std::unique_ptr<Running> startRefused(const NodeShape& shape) {
  return std::make_unique<Refused>(shape);
}

std::unique_ptr<Running> startChange(const NodeShape& shape, unsigned changed) {
  return std::make_unique<Change>(shape, changed);
}

std::unique_ptr<Running> startPreferred(const NodeShape& shape) {
  return std::make_unique<Preferred>(shape);
}

}  // namespace vfiogate::bench
