// What privd is told of allocated groups, against a privd that only takes notes.

#include "plugind/loop/held_groups.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

#include <string>
#include <vector>

namespace vfiogate {
namespace {

using testing::ElementsAre;
/// All with the same note.
GroupNotes groups(std::initializer_list<unsigned> numbers) {
  GroupNotes notes;
  for (const unsigned number : numbers) notes.emplace(IommuGroupId(number), "ref=7f3a");
  return notes;
}

class NotingPrivd final : public GroupHolds {
public:
  kj::Promise<Told> hold(IommuGroupId group, const std::string& text) override {
    return note(text == "ref=7f3a" ? "hold" : "note", group);
  }
  kj::Promise<Told> drop(IommuGroupId group) override { return note("drop", group); }
  kj::Promise<Told> adopted() override {
    notes.emplace_back("adopted");
    return Told::kDone;
  }

  /// What was not answered yet is answered from now on.
  void answer() {
    for (auto& waiting : unanswered_) waiting->fulfill(Told::kDone);
    unanswered_.clear();
  }

  bool silent = false;
  std::vector<std::string> notes;

private:
  kj::Promise<Told> note(const char* what, IommuGroupId group) {
    notes.push_back(std::string(what) + " " + std::to_string(group.number()));
    if (!silent) return Told::kDone;
    auto pair = kj::newPromiseAndFulfiller<Told>();
    unanswered_.push_back(kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }

  std::vector<kj::Own<kj::PromiseFulfiller<Told>>> unanswered_;
};

class HeldGroupsTest : public testing::Test {
protected:
  ~HeldGroupsTest() noexcept override = default;
  void turn() { io_.waitScope.poll(); }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  NotingPrivd privd_;
  HeldGroups held_{privd_};
};

TEST_F(HeldGroupsTest, OneMoreIsTheDifferenceToThoseBefore) {
  held_.hold(groups({7}));
  held_.holdAlso(IommuGroupId(8), "ref=7f3a");
  held_.holdAlso(IommuGroupId(8), "ref=7f3a");
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "hold 8"));
  privd_.notes.clear();
  held_.hold(groups({8}));
  EXPECT_THAT(privd_.notes, ElementsAre("drop 7"));
}

TEST_F(HeldGroupsTest, TellsTheDifferenceAtOnceWhatLeftFirst) {
  held_.hold(groups({7, 8}));
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "hold 8"));
  privd_.notes.clear();
  held_.hold(groups({8, 3}));
  EXPECT_THAT(privd_.notes, ElementsAre("drop 7", "hold 3"));
}

// The pod of an allocation is known later than the allocation.
TEST_F(HeldGroupsTest, AChangedNoteIsToldAgain) {
  held_.hold(groups({7, 8}));
  privd_.notes.clear();
  GroupNotes changed = groups({7, 8});
  changed[IommuGroupId(8)] += " uid=1";
  held_.hold(changed);
  EXPECT_THAT(privd_.notes, ElementsAre("note 8"));
}

// Otherwise privd would drop what the plugind before us held, and it is still allocated.
TEST_F(HeldGroupsTest, AdoptedIsToldOnlyWhenAllHoldsAreAnswered) {
  privd_.silent = true;
  held_.hold(groups({7}));
  held_.adopted();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7"));
  privd_.answer();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "adopted"));
  held_.adopted();
  turn();
  EXPECT_EQ(privd_.notes.size(), 2U);
}

TEST_F(HeldGroupsTest, APrivdThatComesBackIsToldAllOfItAgain) {
  held_.hold(groups({7}));
  held_.adopted();
  turn();
  held_.privdWent();
  privd_.notes.clear();
  held_.hold(groups({7}));
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "adopted"));
}

TEST_F(HeldGroupsTest, WhatWasMeantForAPrivdThatWentIsNotSaidToTheNextOne) {
  privd_.silent = true;
  held_.hold(groups({7}));
  held_.adopted();
  turn();
  held_.privdWent();
  privd_.answer();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7"));
}

}  // namespace
}  // namespace vfiogate
