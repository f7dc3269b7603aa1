// What binder and gate tell, over what the hardware process tells: by table, and in random order
// against a model that keeps everything.

#include "plugind/privd/binding_view.h"

#include "tests/support/hardware.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>

namespace vfiogate {
namespace {

using binder::Changed;
using binder::GroupState;
using test::at;
using test::Hardware;
using Taken = BindingView::Taken;

const GroupBinding kBindable{.bindable = true};
const GroupBinding kBarred{.bar = "users: 0000:65:00.0: module nvidia is used 3 times"};

/// Group 31 of two devices, and group 32 of one.
Snapshot twoGroups() {
  Hardware hardware;
  hardware.add("0000:65:00.0", 31);
  hardware.add("0000:65:00.1", 31);
  hardware.add("0000:66:00.0", 32);
  return hardware.snapshot();
}

GroupState stateOf(std::uint32_t group, std::vector<Bdf> members, GroupBinding binding) {
  return {IommuGroupId(group), std::move(members), std::move(binding)};
}

GroupState bindable31() {
  return stateOf(31, {at("0000:65:00.0"), at("0000:65:00.1")}, kBindable);
}

Changed told(std::vector<GroupState> groups, bool more = false) {
  return {.mayBind = true,
          .sysfsWriting = SysfsWriting::kPossible,
          .more = more,
          .groups = std::move(groups)};
}

struct Row {
  const char* name;
  std::function<void(BindingView&)> told;
  GroupBinding of31;
  GroupBinding of32;
  RightToBind right = RightToBind::kGiven;
  SysfsWriting writing = SysfsWriting::kPossible;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class BindingViewTest : public testing::TestWithParam<Row> {};

TEST_P(BindingViewTest, Completes) {
  BindingView view;
  GetParam().told(view);
  Snapshot expected = twoGroups();
  expected.groups.at(IommuGroupId(31)).binding = GetParam().of31;
  expected.groups.at(IommuGroupId(32)).binding = GetParam().of32;
  expected.sysfsWriting = GetParam().writing;
  // Whatever was there before is replaced.
  Snapshot completed = twoGroups();
  completed.groups.at(IommuGroupId(32)).binding = {.busy = true, .excluded = true, .stuck = true};
  completed.sysfsWriting = SysfsWriting::kReadOnly;
  view.complete(completed);
  EXPECT_EQ(completed, expected);
  EXPECT_EQ(view.right(), GetParam().right);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BindingViewTest,
    testing::Values(
        Row{"Untold",
            [](BindingView&) {},
            {},
            {},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown},
        Row{"ABinderWithNothingToSay", [](BindingView& view) { view.take(told({})); }, {}, {}},
        Row{"ABinderThatDoesNotBindForUs",
            [](BindingView& view) {
              view.take({.mayBind = false, .sysfsWriting = SysfsWriting::kDenied});
            },
            {},
            {},
            RightToBind::kNotGiven,
            SysfsWriting::kDenied},
        Row{"AGroup", [](BindingView& view) { view.take(told({bindable31()})); }, kBindable, {}},
        Row{"AGroupThatLostAMember",
            [](BindingView& view) {
              view.take(told({stateOf(31, {at("0000:65:00.0")}, kBindable)}));
            },
            {},
            {}},
        Row{"AGroupThatGotAMember",
            [](BindingView& view) {
              view.take(told({stateOf(32, {at("0000:66:00.0"), at("0000:67:00.0")}, kBindable)}));
            },
            {},
            {}},
        Row{"AnotherGroupWithItsMembers",
            [](BindingView& view) {
              view.take(told({stateOf(33, {at("0000:66:00.0")}, kBindable)}));
            },
            {},
            {}},
        Row{"ALaterWordOfAGroup",
            [](BindingView& view) {
              view.take(told({bindable31(), stateOf(32, {at("0000:66:00.0")}, kBarred)}));
              view.take(told({stateOf(32, {at("0000:66:00.0")}, kBindable)}));
            },
            kBindable, kBindable},
        Row{"AWordThatIsTakenBack",
            [](BindingView& view) {
              view.take(told({bindable31()}));
              view.take(told({stateOf(31, bindable31().members, {})}));
            },
            {},
            {}},
        Row{"APartAlone",
            [](BindingView& view) {
              EXPECT_EQ(view.take(told({bindable31()}, true)), Taken::kPart);
            },
            {},
            {},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown},
        Row{"AllParts",
            [](BindingView& view) {
              view.take(told({bindable31()}, true));
              EXPECT_EQ(view.take(told({stateOf(32, {at("0000:66:00.0")}, kBarred)})),
                        Taken::kWhole);
            },
            kBindable, kBarred},
        Row{"ABinderThatWent",
            [](BindingView& view) {
              view.take(told({bindable31()}));
              view.binderWent();
            },
            {},
            {},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown},
        Row{"APartOfABinderThatWent",
            [](BindingView& view) {
              view.take(told({bindable31()}, true));
              view.binderWent();
              view.take(told({}));
            },
            {},
            {}},
        Row{"AGroupThatChangesWhateverIsTold",
            [](BindingView& view) {
              view.take(told({bindable31()}));
              view.changeBegins(IommuGroupId(31));
              view.take(told({stateOf(31, bindable31().members, {.boundForAllocation = true})}));
            },
            {.busy = true},
            {}},
        Row{"AGroupThatGoesBack",
            [](BindingView& view) {
              view.take(told({stateOf(31, bindable31().members, {.boundForAllocation = true})}));
              view.changeBegins(IommuGroupId(31));
              view.take(told({bindable31()}));
              view.exclude({at("0000:65:00.0")});
            },
            {.busy = true, .excluded = true, .boundForAllocation = true},
            {}},
        Row{"AGroupThatHasChanged",
            [](BindingView& view) {
              view.changeBegins(IommuGroupId(31));
              view.take(told({stateOf(31, bindable31().members, {.boundForAllocation = true})}));
              view.changeEnded(IommuGroupId(31));
            },
            {.boundForAllocation = true},
            {}},
        Row{"TheFirstOfTwoChangesEnded",
            [](BindingView& view) {
              view.changeBegins(IommuGroupId(31));
              view.changeBegins(IommuGroupId(31));
              view.changeEnded(IommuGroupId(31));
              view.take(told({bindable31()}));
            },
            {.busy = true},
            {}},
        Row{"AnExclusion",
            [](BindingView& view) {
              view.take(told({bindable31()}));
              view.exclude({at("0000:65:00.1"), at("0000:99:00.0")});
            },
            {.bindable = true, .excluded = true},
            {}},
        Row{"AnExclusionWithoutABinder",
            [](BindingView& view) { view.exclude({at("0000:66:00.0")}); },
            {},
            {.excluded = true},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown},
        Row{"AnExclusionThatOutlivesTheBinder",
            [](BindingView& view) {
              view.take(told({bindable31()}));
              view.exclude({at("0000:66:00.0")});
              view.binderWent();
            },
            {},
            {.excluded = true},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown},
        Row{"AnExclusionThatIsOver",
            [](BindingView& view) {
              view.exclude({at("0000:66:00.0")});
              view.exclude({});
            },
            {},
            {},
            RightToBind::kBinderAway,
            SysfsWriting::kUnknown}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(BindingView, TakesNoMoreGroupsThanANodeHas) {
  const auto some = [](std::uint32_t first, bool more) {
    std::vector<GroupState> groups;
    for (std::uint32_t i = 0; i < 4096; ++i) {
      groups.push_back(stateOf(first + i, {at("0000:66:00.0")}, kBindable));
    }
    return told(std::move(groups), more);
  };
  BindingView parts;
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_EQ(parts.take(some(i * 4096, true)), Taken::kPart);
  }
  EXPECT_EQ(parts.take(told({bindable31()}, true)), Taken::kTooMuch);
  BindingView wholes;
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_EQ(wholes.take(some(i * 4096, false)), Taken::kWhole);
  }
  EXPECT_EQ(wholes.take(told({stateOf(70'000, {at("0000:66:00.0")}, kBindable)})), Taken::kTooMuch);
}

/// Keeps every word, and answers from all of them.
class Model {
public:
  void tell(const GroupState& state) { words_.push_back(state); }
  void forget() { words_.clear(); }
  std::set<UnitId> excluded;

  GroupBinding bindingOf(const IommuGroup& group) const {
    GroupBinding binding;
    for (const GroupState& word : words_) {
      if (word.id == group.id) {
        binding = word.members == group.members ? word.binding : GroupBinding{};
      }
    }
    for (const Bdf& member : group.members) {
      binding.excluded = binding.excluded || excluded.contains(member);
    }
    return binding;
  }

private:
  std::vector<GroupState> words_;
};

TEST(BindingView, RandomWordsInAnyOrderAreWhatWasSaidLast) {
  std::minstd_rand random(37);
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  const auto device = [&below]() {
    return *Bdf::make(0, 1, static_cast<std::uint8_t>(below(6)), 0);
  };
  const auto members = [&]() {
    std::set<Bdf> some{device()};
    for (unsigned i = below(3); i > 0; --i) some.insert(device());
    return std::vector<Bdf>(some.begin(), some.end());
  };
  BindingView view;
  Model model;
  Snapshot hardware;
  for (int round = 0; round < 20'000; ++round) {
    switch (below(6)) {
      case 0:
        if (below(10) == 0) {
          view.binderWent();
          model.forget();
        }
        break;
      case 1:
        model.excluded = below(2) == 0 ? std::set<UnitId>() : std::set<UnitId>{device(), device()};
        view.exclude(model.excluded);
        break;
      case 2: {
        const IommuGroupId id(below(4));
        hardware.groups.insert_or_assign(id, IommuGroup{.id = id, .members = members()});
        break;
      }
      default: {
        std::vector<GroupState> states;
        for (unsigned i = below(3); i > 0; --i) {
          states.push_back(stateOf(below(4), members(),
                                   {.bindable = below(2) == 0,
                                    .busy = below(2) == 0,
                                    .boundForAllocation = below(2) == 0,
                                    .stuck = below(2) == 0}));
          model.tell(states.back());
        }
        // In one packet, or each in its own.
        const bool parts = below(2) == 0;
        for (const GroupState& state : states) {
          if (parts) view.take(told({state}, true));
        }
        view.take(told(parts ? std::vector<GroupState>() : states));
      }
    }
    view.complete(hardware);
    for (const auto& [id, group] : hardware.groups) {
      ASSERT_EQ(group.binding, model.bindingOf(group)) << "round " << round;
    }
  }
}

TEST(BindingView, AMediatedDeviceIsExcludedWithItsGroup) {
  const Uuid part = *Uuid::parse("3f5e2c10-0001-4a5b-8c6d-000000000001");
  Hardware hardware;
  hardware.add("0000:11:00.0", 40);
  hardware.addMediated(part.str(), "0000:11:00.0", "nvidia-711", 60);
  BindingView view;
  view.exclude({part});
  Snapshot snapshot = hardware.snapshot();
  view.complete(snapshot);
  EXPECT_TRUE(snapshot.groups.at(IommuGroupId(60)).binding.excluded);
  EXPECT_FALSE(snapshot.groups.at(IommuGroupId(40)).binding.excluded) << "its parent's";
}

}  // namespace
}  // namespace vfiogate
