// As reasons_agree_test, of the reasons that are not the hardware's: the configuration's, those of
// privd's guards, and the ledger's. Each code that plugind may say has a row, here or there.

#include "plugind/core/status/known_codes.h"
#include "tests/unit/plugind/reasons_case.h"

#include <functional>
#include <set>

namespace vfiogate {
namespace {

using namespace std::chrono_literals;
using test::kA;
using test::kB;
using test::kC;
using test::kSharedGroup;
using testing::HasSubstr;

constexpr const char* kVirtual = "0000:02:01.0";

class OfferReasons;

struct OfferRow {
  std::string code;
  std::string words;  ///< part of what people are told
  /// What a pod that asks for the device is refused with; empty: the kubelet does not see it.
  std::string refusal;
  std::function<void(OfferReasons&)> bring;
  const char* address = kA;
  const char* resource = "gpu";
  std::string also = "";  ///< what else stands against it, in one word; told of less urgently
};
void PrintTo(const OfferRow& row, std::ostream* out) {
  *out << row.code << row.also;
}

class OfferReasons : public test::Reasons {
public:
  using LedgerCase::hold;
  using LedgerCase::node;
  using LedgerCase::setUse;
  using OnAllocate::allocateAndRelease;
  using OnAllocate::endBind;
  using OnAllocate::showBusy;
  using test::Reasons::onVfio;

  void startOnVfio() {
    onVfio();
    node.start();
  }
  void flip(int times) {
    const PciDevice bound = node.hardware.device(kA);
    for (int i = 0; i < times; ++i) {
      node.hardware.device(kA) = bound;
      if (i % 2 == 0) test::putOnHost(node.hardware.device(kA));
      node.see();
      node.pass(1s);
    }
  }
};

void forget(OfferReasons& on) {
  on.startOnVfio();
  on.hold("p1", "gpu", {kA});
  on.setUse(31, GroupUse::kOpen);
  on.node.entries.clear();
  on.node.newKubelet();
  on.node.pass(30s);
}

std::vector<OfferRow> configured() {
  return {
      {"unmatched", "no entry", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.settings.resources.erase(on.node.settings.resources.begin());
         on.node.start();
       }},
      {"excluded", "exclude[0]", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.settings.exclude.push_back(*Selector::parse(std::string("address=") + kA));
         on.node.start();
       }},
      {"serial-unknown", "selects by serial", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.settings.exclude.push_back(*Selector::parse("vendor=10de,serial=MT1"));
         on.node.start();
       }},
      {"companion", "travels with", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.hardware.device(kB).classCode = 0x040300;
         on.node.start();
       },
       kB, "other"},
      {"segment", "above 16 bit", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.hardware.add("10000:01:00.0", 40);
         on.node.start();
       },
       "10000:01:00.0"},
      {"set-incomplete", "no set with it can be allocated now (pair)", "",
       [](OfferReasons& on) {
         on.onVfio();
         ResourceSettings pair;
         pair.name = test::resource("pair");
         pair.sets = {{"pair", {test::at(kA), test::at(kC)}}};
         on.node.settings.resources = {pair};
         on.node.hardware.remove(kC);
         on.node.start();
       },
       kA, "pair"},
      {"unit-size", "more.count of its resource is 1", "",
       [](OfferReasons& on) {
         on.onVfio();
         AllocationSettings& allocation = on.node.settings.resources[0].allocation;
         allocation.groupUnit = GroupUnit::kWhole;
         allocation.more = MoreDevices{test::resource("gpu_more"), 1};
         on.node.start();
       }},
      {"bad-name", "name is not one", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.settings.resources[0].name.reset();
         on.node.settings.resourcePrefix = "no prefix";
         on.node.start();
       }},
      {"two-settings", "other settings", "",
       [](OfferReasons& on) {
         on.onVfio();
         ResourceSettings& first = on.node.settings.resources[0];
         first.select = *Selector::parse(std::string("address=") + kC);
         on.node.offer("device=2684", "gpu").allocation.groupUnit = GroupUnit::kAll;
         on.node.start();
       },
       kC},
      {"represented", "stands for its group", "",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.hardware.device(kB).device = std::uint16_t{0x2684};
         on.node.start();
       },
       kB},
  };
}

std::vector<OfferRow> changing() {
  return {
      {"offered", "", "granted", [](OfferReasons& on) { on.startOnVfio(); }},
      {"gone", "unplugged or removed", "not-viable:gone",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.node.hardware.remove(kA);
         on.node.see();
       }},
      {"flapping", "comes and goes", "granted",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.flip(12);
       }},
      {"binding", "", "not-viable:binding",
       [](OfferReasons& on) {
         on.node.start();
         on.showBusy(true);
       }},
      {"bind-failed", "could not", "timed-out",
       [](OfferReasons& on) {
         on.node.start();
         on.node.ask("gpu", {kA});
         on.endBind(kSharedGroup, {test::Ending::kFailed, "EBUSY"});
       }},
      {"cdi", "disk full", "cdi",
       [](OfferReasons& on) {
         on.node.settings.resources[0].allocation.injectCdi = true;
         on.node.specsFail = "disk full";
         on.startOnVfio();
       }},
      {"foreign-ids", "the kubelet has", "foreign-ids",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.node.record("p2", "gpu", {"6f0c7a56-0000-4000-8000-00000000000a"});
         on.node.write();
       }},
      {"pf-allocated", "its physical function 0000:02:00.0 is allocated", "pf-allocated",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.hardware.add(kVirtual, 40).physicalFunction = test::at(kC);
         on.node.start();
         on.hold("p1", "gpu", {kC});
       },
       kVirtual},
      {"privd-away", "privd is away", "privd-away",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.node.run(on.node.ledger.privdWent(on.node.now));
         on.node.pass(61s);
       }},
      {"not-adopted", "could not be read", "not-adopted",
       [](OfferReasons& on) {
         on.onVfio();
         on.node.readable = false;
         on.node.see();
         on.node.run(on.node.ledger.kubeletSeen(on.node.kubelet, on.node.now));
       }},
      {"resting", "comes back", "",
       [](OfferReasons& on) {
         on.startOnVfio();
         const Settings with = on.node.settings;
         on.node.settings.resources.erase(on.node.settings.resources.begin());
         on.node.see();
         on.node.pass(timing::kFrameStay);
         on.node.settings = with;
         on.node.see();
       }},
  };
}

std::vector<OfferRow> held() {
  return {
      {"group-taking", "being-allocated", "being-allocated",
       [](OfferReasons& on) {
         on.node.start();
         on.node.ask("gpu", {kA});
       },
       kB, "other"},
      {"group-answered", "group-allocated", "group-allocated",
       [](OfferReasons& on) {
         on.startOnVfio();
         ASSERT_EQ(on.node.allocate("gpu", {kA}), "granted");
       },
       kB, "other"},
      {"group-allocated", "group-allocated", "group-allocated",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.hold("p1", "gpu", {kA});
       },
       kB, "other"},
      {"group-forgotten", "group-allocated", "group-allocated", forget, kB, "other"},
      {"group-lingering", "still-open", "still-open",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.hold("p1", "gpu", {kA});
         on.setUse(31, GroupUse::kOpen);
         on.node.forget("p1");
         on.node.pass(75s);
       }},
      {"group-foreign", "foreign", "foreign",
       [](OfferReasons& on) {
         on.startOnVfio();
         on.setUse(31, GroupUse::kOpen);
         on.node.pass(5s);
         on.node.see();
       }},
      {"group-returning", "returning", "returning",
       [](OfferReasons& on) { on.allocateAndRelease(); }},
  };
}

/// Of several reasons that apply at once everybody tells the one that an Allocate is refused with.
std::vector<OfferRow> together() {
  const auto hostDriverToo = [](const OfferRow& row) {
    OfferRow both = row;
    both.also = "AndHostDriver";
    both.bring = [bring = row.bring](OfferReasons& on) {
      bring(on);
      test::putOnHost(on.node.hardware.device(kB));
      on.node.see();
    };
    return both;
  };
  const std::set<std::string> worse{"foreign-ids", "group-allocated", "group-lingering",
                                    "group-foreign"};
  std::vector<OfferRow> all;
  for (const auto& some : {changing(), held()}) {
    for (const OfferRow& row : some) {
      if (worse.contains(row.code)) all.push_back(hostDriverToo(row));
    }
  }
  all.push_back({"group-returning", "returning", "returning",
                 [](OfferReasons& on) {
                   on.allocateAndRelease();
                   on.showBusy(true);
                 },
                 kA, "gpu", "AndBinding"});
  all.push_back({"privd-away", "privd is away", "privd-away",
                 [](OfferReasons& on) {
                   on.onVfio();
                   test::putOnHost(on.node.hardware.device(kB));
                   on.node.start();
                   on.node.run(on.node.ledger.privdWent(on.node.now));
                   on.node.pass(61s);
                 },
                 kA, "gpu", "AndHostDriver"});
  all.push_back({"not-answering", "reads all ones", "not-viable:not-answering",
                 [](OfferReasons& on) {
                   on.startOnVfio();
                   on.hold("p1", "gpu", {kA});
                   on.node.hardware.device(kA).answers = false;
                   on.node.see();
                 },
                 kA, "gpu", "OfWhatAPodHas"});
  return all;
}

std::vector<OfferRow> guarded() {
  std::vector<OfferRow> all;
  for (unsigned number = 0; number < kGuards; ++number) {
    const std::string guard(nameOf(static_cast<Guard>(number)));
    all.push_back({"guard-" + guard, "the module is used", "not-viable:guard-" + guard,
                   [guard](OfferReasons& on) {
                     on.node.facts.bindable = {test::kOwnGroup};
                     on.node.facts.barred = {{kSharedGroup, guard + ": the module is used"}};
                     on.node.start();
                   }});
  }
  return all;
}

std::vector<OfferRow> offerRows() {
  std::vector<OfferRow> all;
  for (const auto& some : {configured(), changing(), held(), together(), guarded()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class EachOfferReason : public OfferReasons, public testing::WithParamInterface<OfferRow> {};

TEST_P(EachOfferReason, IsTheSameWhoeverIsAsked) {
  const OfferRow& row = GetParam();
  row.bring(*this);
  if (HasFatalFailure()) return;
  expectAgreed(row.address, row.code, row.words);
  if (row.refusal.empty()) return;
  node.answersQuestions = row.code != "group-taking";
  const CallId call = node.ask(row.resource, {row.address});
  node.pass(6s);
  EXPECT_EQ(node.outcome(call), row.refusal) << "what a pod is told";
}

INSTANTIATE_TEST_SUITE_P(Reason, EachOfferReason, testing::ValuesIn(offerRows()),
                         [](const auto& row) {
                           std::string name = row.param.code + row.param.also;
                           std::erase(name, '-');
                           return name;
                         });

TEST(OfferReasonsOf, EachCodeThatPlugindMaySayHasARow) {
  std::set<std::string> tried;
  for (const OfferRow& row : offerRows()) tried.insert(row.code);
  // Those of the hardware: reasons_agree_test.
  for (unsigned last = 1; last <= static_cast<unsigned>(Obstacle::kNoNode); ++last) {
    tried.emplace(reasonCode(static_cast<Obstacle>(last)));
  }
  const std::vector<std::string> known = knownOfferReasons();
  EXPECT_EQ(tried, std::set<std::string>(known.begin(), known.end()));
}

}  // namespace
}  // namespace vfiogate
