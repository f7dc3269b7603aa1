// A session of plugind's with privd's gate: the lease, and the record of allocations.

#include "tests/unit/privd/gate/served_gate.h"

#include "privd/state/allocation_files.h"
#include "tests/support/small_disk.h"

#include <cerrno>

namespace vfiogate::test {
namespace {

using gate::Code;

const std::vector<UnitId> kSeven{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
const std::vector<UnitId> kEight{*Bdf::parse("0000:02:00.0")};

class GateSessionTest : public ServedGate {
protected:
  ~GateSessionTest() noexcept override = default;

  Answered allocate(PlayedPlugind& plugind, const std::vector<UnitId>& members,
                    const std::string& note = "resource=vfiogate.dev/gpu") {
    return ask(plugind, gate::Allocate{members, note});
  }
  void release(PlayedPlugind& plugind, const std::vector<UnitId>& members) {
    EXPECT_TRUE(ask(plugind, gate::Release{members}).is(Code::kDone));
  }
  void adopted(PlayedPlugind& plugind) {
    EXPECT_TRUE(ask(plugind, gate::Adopted{}).is(Code::kDone));
  }
  /// As a command sees it.
  AllocationFiles files() { return AllocationFiles::open(dir_ / "devices", "this-boot").value(); }
  bool stands(const std::vector<UnitId>& members) { return files().standing(members).has_value(); }
  /// All parts.
  std::vector<gate::Allocation> listed(PlayedPlugind& plugind, std::size_t* parts = nullptr) {
    std::vector<gate::Allocation> all;
    gate::Allocations part{.groups = {}, .more = true};
    while (part.more) {
      const std::string after = all.empty() ? "" : all.back().members.front().str();
      auto answered = ask(plugind, gate::List{gate::List::What::kAllocations, after});
      part = std::get<gate::Allocations>(answered.answer.outcome);
      EXPECT_LE(encode(gate::FromGate(answered.answer)).size(), gate::kLargestAnswer);
      all.insert(all.end(), part.groups.begin(), part.groups.end());
      if (parts != nullptr) ++*parts;
    }
    return all;
  }
  static gate::Entered enteredIn(const Answered& answered) {
    return std::get<gate::Entered>(answered.answer.outcome);
  }
};

TEST_F(GateSessionTest, BeginsWithTheLeaseAndItsLock) {
  auto plugind = connect();
  const auto answered = ask(plugind, gate::Enter{});
  ASSERT_TRUE(answered.is(Code::kDone));
  EXPECT_EQ(enteredIn(answered).lease, 41U);
  EXPECT_FALSE(enteredIn(answered).complete);
  ASSERT_TRUE(answered.hasFd());
  EXPECT_EQ(fcntl(answered.descriptor(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_FALSE(lease_.isFree());
}

TEST_F(GateSessionTest, EnteringAgainIsTheSameLease) {
  auto plugind = entered();
  const auto again = ask(plugind, gate::Enter{});
  ASSERT_TRUE(again.is(Code::kDone));
  EXPECT_EQ(enteredIn(again).lease, 41U);
  EXPECT_FALSE(again.hasFd());
}

TEST_F(GateSessionTest, AnotherProtocolIsToldPrivdsOwn) {
  auto plugind = connect();
  const auto answered = ask(plugind, gate::Enter{.protocol = gate::kProtocol + 1});
  EXPECT_TRUE(answered.is(Code::kWrongProtocol));
  EXPECT_EQ(answered.answer.detail, gate::kProtocol);
  EXPECT_TRUE(lease_.isFree());
}

TEST_F(GateSessionTest, IsForOnePlugindAtATime) {
  auto first = entered();
  auto second = connect();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ask(second, gate::Enter{}).is(Code::kLeased));
  first.lock = nullptr;
  EXPECT_TRUE(ask(second, gate::Enter{}).is(Code::kDone));
}

TEST_F(GateSessionTest, OnAFullDiskNobodyEntersAndItServesOn) {
  const SmallDisk disk(dir_ / "small");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  lease_ = PlugindLease::open(dir_ / "small", 40).value();
  disk.fill();
  auto plugind = connect();
  const auto answered = ask(plugind, gate::Enter{});
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, ENOSPC);
  disk.empty();
  EXPECT_TRUE(ask(plugind, gate::Enter{}).is(Code::kDone));
}

TEST_F(GateSessionTest, WhoShowsTheLeaseComesBackAndAStrangerDoesNot) {
  auto plugind = entered();
  auto stranger = connect();
  EXPECT_TRUE(ask(stranger, gate::Enter{}).is(Code::kLeased));
  EXPECT_TRUE(ask(stranger, gate::Enter{.lease = 42}).is(Code::kLeased));
  auto again = connect();
  const auto answered = ask(again, gate::Enter{.lease = 41});
  ASSERT_TRUE(answered.is(Code::kDone));
  EXPECT_EQ(enteredIn(answered).lease, 41U);
  EXPECT_FALSE(answered.hasFd()) << "it has it already";
}

// What comes before Enter is no request.
TEST_F(GateSessionTest, I6_WhoAsksBeforeItHasEnteredIsHungUpOn) {
  const std::vector<gate::Request> requests{
      gate::Adopted{},       gate::Seen{},   gate::Listen{.name = "vfiogate.dev/gpu"},
      gate::Dial{},          gate::Open{},   gate::Allocate{kSeven, "note"},
      gate::Release{kSeven}, gate::Remove{}, gate::List{}};
  for (const gate::Request& request : requests) {
    auto plugind = connect();
    EXPECT_TRUE(ask(plugind, request).hungUp) << request.index();
  }
  EXPECT_EQ(filesIn("device-plugins"), 0U);
  EXPECT_FALSE(stands(kSeven));
}

TEST_F(GateSessionTest, AllocatesAGroupByItsMembers) {
  auto plugind = entered();
  EXPECT_TRUE(allocate(plugind, kSeven).is(Code::kDone));
  EXPECT_TRUE(allocate(plugind, kSeven).is(Code::kDone));
  EXPECT_EQ(files().standing(kSeven)->note, "resource=vfiogate.dev/gpu");
  EXPECT_FALSE(stands(kEight));
  release(plugind, kSeven);
  release(plugind, kSeven);
  EXPECT_FALSE(stands(kSeven));
}

TEST_F(GateSessionTest, KeepsAllocationsWhilePlugindIsAwayUntilTheNextOneIsAdopted) {
  {
    auto before = entered();
    allocate(before, kSeven);
    allocate(before, kEight);
  }
  auto after = entered();
  EXPECT_EQ(listed(after).size(), 2U);
  allocate(after, kEight);
  EXPECT_TRUE(stands(kSeven)) << "it has not said yet what it knows";
  adopted(after);
  adopted(after);
  EXPECT_FALSE(stands(kSeven));
  EXPECT_TRUE(stands(kEight));
  EXPECT_TRUE(enteredIn(ask(after, gate::Enter{})).complete);
}

TEST_F(GateSessionTest, AGroupWhoseDriversChangeIsBusyAndPrivdWasTold) {
  auto plugind = entered();
  {
    const auto locks = files().lock(kSeven);
    ASSERT_TRUE(locks);
    EXPECT_TRUE(allocate(plugind, kSeven).is(Code::kBusy));
    EXPECT_FALSE(stands(kSeven));
    EXPECT_EQ(listed(plugind).size(), 1U);
  }
  EXPECT_TRUE(allocate(plugind, kSeven).is(Code::kDone));
  EXPECT_TRUE(stands(kSeven));
}

TEST_F(GateSessionTest, WhatIsReleasedWhileItIsBusyIsFree) {
  auto plugind = entered();
  {
    const auto locks = files().lock(kSeven);
    allocate(plugind, kSeven);
    release(plugind, kSeven);
  }
  EXPECT_FALSE(stands(kSeven));
  EXPECT_TRUE(listed(plugind).empty());
}

TEST_F(GateSessionTest, WhatIsNoNoteFails) {
  auto plugind = entered();
  const auto answered = allocate(plugind, kSeven, "\x01");
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, EINVAL);
  EXPECT_FALSE(stands(kSeven));
}

TEST_F(GateSessionTest, I10_WhoAllocatesWhatIsNotThereAllocatesNoMoreThanADirectoryHas) {
  auto plugind = entered();
  for (std::uint32_t i = 0; i < AllocationFiles::kMostDevices + 40; ++i) {
    const Bdf made = *Bdf::make(i, 0, 0, 0);
    const bool fits = i < AllocationFiles::kMostDevices;
    const auto answered = allocate(plugind, {made});
    ASSERT_TRUE(answered.is(fits ? Code::kDone : Code::kFailed)) << i;
    ASSERT_EQ(answered.answer.detail, fits ? 0 : EOVERFLOW);
  }
  EXPECT_EQ(filesIn("devices"), AllocationFiles::kMostDevices);
}

TEST_F(GateSessionTest, ListsAllocationsInPartsThatFitIntoAnAnswer) {
  auto plugind = entered();
  std::vector<gate::Allocation> all;
  for (std::uint32_t i = 0; i < 40; ++i) {
    all.push_back({{*Bdf::make(i, 0, 0, 0)}, std::string(8000, static_cast<char>('a' + i % 26))});
    ASSERT_TRUE(allocate(plugind, all.back().members, all.back().note).is(Code::kDone));
  }
  std::size_t parts = 0;
  EXPECT_EQ(listed(plugind, &parts), all);
  EXPECT_EQ(parts, 5U) << "eight a part";
}

// No part ends between groups that begin with one device: the next could not go on there.
TEST_F(GateSessionTest, I10_GroupsThatBeginWithOneDeviceAreOfOnePart) {
  auto plugind = entered();
  const std::string note(8000, 'x');
  std::size_t taken = 0;
  for (std::uint32_t first = 0; first < 6; ++first) {
    for (std::uint32_t i = 1; i < 10; ++i) {
      const std::vector<UnitId> members{*Bdf::make(first, 0, 0, 0),
                                        *Bdf::make(100 + first, 0, 0, 0),
                                        *Bdf::make(100 * i + 200 + first, 0, 0, 0)};
      const auto answered = allocate(plugind, members, note);
      if (answered.is(Code::kDone)) {
        ++taken;
      } else {
        EXPECT_EQ(answered.answer.detail, EOVERFLOW);
      }
    }
  }
  EXPECT_LT(taken, 6U * 9U);
  std::size_t parts = 0;
  EXPECT_EQ(listed(plugind, &parts).size(), taken) << "each of them once";
  EXPECT_EQ(parts, 6U);
}

}  // namespace
}  // namespace vfiogate::test
