// What privd is told of allocated groups, against a privd that only takes notes.

#include "plugind/loop/allocated_groups.h"

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

class NotingPrivd final : public GroupAllocations {
public:
  kj::Promise<Told> allocate(IommuGroupId group, const std::string& text) override {
    return note(text == "ref=7f3a" ? "hold" : "note", group);
  }
  kj::Promise<Told> release(IommuGroupId group) override { return note("drop", group); }
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

class AllocatedGroupsTest : public testing::Test {
protected:
  ~AllocatedGroupsTest() noexcept override = default;
  void turn() { io_.waitScope.poll(); }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  NotingPrivd privd_;
  AllocatedGroups allocated_{privd_};
};

TEST_F(AllocatedGroupsTest, OneMoreIsTheDifferenceToThoseBefore) {
  allocated_.set(groups({7}));
  allocated_.add(IommuGroupId(8), "ref=7f3a");
  allocated_.add(IommuGroupId(8), "ref=7f3a");
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "hold 8"));
  privd_.notes.clear();
  allocated_.set(groups({8}));
  EXPECT_THAT(privd_.notes, ElementsAre("drop 7"));
}

TEST_F(AllocatedGroupsTest, TellsTheDifferenceAtOnceWhatLeftFirst) {
  allocated_.set(groups({7, 8}));
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "hold 8"));
  privd_.notes.clear();
  allocated_.set(groups({8, 3}));
  EXPECT_THAT(privd_.notes, ElementsAre("drop 7", "hold 3"));
}

// The pod of an allocation is known later than the allocation.
TEST_F(AllocatedGroupsTest, AChangedNoteIsToldAgain) {
  allocated_.set(groups({7, 8}));
  privd_.notes.clear();
  GroupNotes changed = groups({7, 8});
  changed[IommuGroupId(8)] += " uid=1";
  allocated_.set(changed);
  EXPECT_THAT(privd_.notes, ElementsAre("note 8"));
}

// Otherwise privd would drop what the plugind before us held, and it is still allocated.
TEST_F(AllocatedGroupsTest, AdoptedIsToldOnlyWhenAllAllocationsAreAnswered) {
  privd_.silent = true;
  allocated_.set(groups({7}));
  allocated_.adopted();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7"));
  privd_.answer();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "adopted"));
  allocated_.adopted();
  turn();
  EXPECT_EQ(privd_.notes.size(), 2U);
}

TEST_F(AllocatedGroupsTest, APrivdThatComesBackIsToldAllOfItAgain) {
  allocated_.set(groups({7}));
  allocated_.adopted();
  turn();
  allocated_.privdWent();
  privd_.notes.clear();
  allocated_.set(groups({7}));
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7", "adopted"));
}

TEST_F(AllocatedGroupsTest, WhatWasMeantForAPrivdThatWentIsNotSaidToTheNextOne) {
  privd_.silent = true;
  allocated_.set(groups({7}));
  allocated_.adopted();
  turn();
  allocated_.privdWent();
  privd_.answer();
  turn();
  EXPECT_THAT(privd_.notes, ElementsAre("hold 7"));
}

}  // namespace
}  // namespace vfiogate
