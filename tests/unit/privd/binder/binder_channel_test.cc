// The binder's channel over a made-up tree, and plugind's end of it: in one process.

#include "privd/binder/binder_channel.h"

#include "ipc/gate/packet_socket.h"
#include "privd/state/allocation_records.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <optional>

namespace vfiogate {
namespace {

using Outcome = binder::Answer::Outcome;
using testing::HasSubstr;

const std::vector<Bdf> kMembersOfSeven{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
const std::vector<Bdf> kMembersOfEight{*Bdf::parse("0000:02:00.0")};

/// Answers when it is told to, and at once otherwise.
class PlannedBinder final : public AllocationBinder {
public:
  kj::Promise<AllocationAnswer> bind(const std::vector<Bdf>& members) override {
    asked.push_back({"bind", members});
    return answer();
  }
  kj::Promise<AllocationAnswer> giveBack(const std::vector<Bdf>& members) override {
    asked.push_back({"give back", members});
    return answer();
  }
  void finishAll() {
    for (auto& one : waiting) one->fulfill(AllocationAnswer{planned});
    waiting.clear();
  }

  AllocationAnswer planned;
  bool waits = false;
  std::vector<std::pair<std::string, std::vector<Bdf>>> asked;

private:
  kj::Promise<AllocationAnswer> answer() {
    if (!waits) return planned;
    auto later = kj::newPromiseAndFulfiller<AllocationAnswer>();
    waiting.push_back(kj::mv(later.fulfiller));
    return kj::mv(later.promise);
  }
  std::vector<kj::Own<kj::PromiseFulfiller<AllocationAnswer>>> waiting;
};

class BinderChannelTest : public testing::Test {
protected:
  BinderChannelTest() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:01:00.1"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    for (int device = 3; device < 13; ++device)
      tree_.add({.address = address(device), .group = 20U + static_cast<unsigned>(device)});
    view_.emplace(HostView::Deps{
        sysfs_, dev_, io_.provider->getTimer(), 60 * kj::SECONDS,
        [this](const Snapshot&, const IommuGroup& group) { return bindings_[group.id]; }});
  }
  ~BinderChannelTest() noexcept override = default;

  static std::string address(int device) {
    return std::string("0000:") + (device < 10 ? "0" : "") + std::to_string(device) + ":00.0";
  }

  /// What the probe of the group found; null: nothing came.
  std::optional<binder::Probed> probed(std::uint32_t number, std::uint32_t group) {
    ask(binder::Probe{number, IommuGroupId(group)});
    return next<binder::Probed>();
  }

  /// What the card told; a child has to read it.
  binder::SerialTold told(std::uint32_t number, const Bdf& card) {
    ask(binder::ReadSerial{number, card});
    while (true) {
      if (auto answer = next<binder::SerialTold>()) return *answer;
      io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    }
  }
  void putVitalData(const char* address, const std::string& serial) {
    const auto length = [](std::size_t size) { return std::string(1, static_cast<char>(size)); };
    tree_.setAttribute(
        address, "vpd",
        '\x90' + length(3 + serial.size()) + '\0' + "SN" + length(serial.size()) + serial);
  }

  HostView& view() { return KJ_ASSERT_NONNULL(view_); }

  /// A channel, and what it told first, seen.
  void open(AllocationBinder* binder) {
    PacketPair pair = std::move(packetPair()).value();
    plugind_ = kj::mv(pair.theirs);
    channel_ = kj::heap<BinderChannel>(
        BinderChannel::Deps{io_.unixEventPort, sysfs_, dev_, allocations_, view(), binder,
                            mayProbe_ ? &probes_ : nullptr, mayAsk_ ? &serials_ : nullptr},
        kj::mv(pair.ours));
    over_ = channel_->ended()
                .then([this](std::string why) { why_ = std::move(why); })
                .eagerlyEvaluate(nullptr);
    first_ = next<binder::Changed>();
    ask(binder::Seen{});
  }
  void open() { open(&binder_); }

  void ask(const binder::Request& request) {
    ASSERT_EQ(sendPacket(plugind_, encode(request)), PacketSent::kSent);
    turn();
  }
  void turn() {
    for (int i = 0; i < 3; ++i) {
      io_.provider->getTimer().afterDelay(0 * kj::SECONDS).wait(io_.waitScope);
      io_.waitScope.poll();
    }
  }
  /// What the binder said next; null: nothing.
  std::optional<binder::FromBinder> heard() {
    auto received = receivePacket(plugind_, binder::kLargestMessage);
    if (!received) return std::nullopt;
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) return binder::decodeFromBinder(packet->bytes).value();
    return std::nullopt;
  }
  template <typename Message>
  std::optional<Message> next() {
    turn();
    const auto message = heard();
    if (!message || !std::holds_alternative<Message>(*message)) return std::nullopt;
    return std::get<Message>(*message);
  }
  /// How the order ended.
  std::optional<Outcome> outcomeOf(const binder::Request& order) {
    ask(order);
    const auto answer = next<binder::Answer>();
    return answer ? std::optional(answer->outcome) : std::nullopt;
  }
  /// Why the binder hung up; null: it did not.
  std::optional<std::string> hungUp() {
    turn();
    return why_;
  }

  void allocate(const std::vector<Bdf>& members = kMembersOfSeven) {
    ASSERT_TRUE(records_.allocate({members.begin(), members.end()}, "resource=vfiogate.dev/gpu",
                                  records_.newSession()));
  }
  void becomes(std::uint32_t group, GroupBinding binding) {
    bindings_[IommuGroupId(group)] = std::move(binding);
    view().rereadNow({IommuGroupId(group)});
  }

  TempDir dir_;
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  AllocationRecords records_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  AllocationFiles allocations_ = AllocationFiles::open(dir_ / "devices", "this-boot").value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::map<IommuGroupId, GroupBinding> bindings_;
  kj::Maybe<HostView> view_;
  PlannedBinder binder_;
  GroupProbes probes_{dev_, io_.provider->getTimer()};
  bool mayProbe_ = true;
  Writer writer_{io_.unixEventPort, io_.provider->getTimer(), ForkServer::start().value(),
                 [](kj::StringPtr, WriteOutcome) {}};
  SerialReads serials_{sysfs_, writer_, io_.provider->getTimer()};
  bool mayAsk_ = true;
  kj::AutoCloseFd plugind_;
  std::optional<std::string> why_;
  std::optional<binder::Changed> first_;
  kj::Own<BinderChannel> channel_;
  kj::Promise<void> over_ = nullptr;
};

TEST_F(BinderChannelTest, TellsAtOnceWhereGroupsStand) {
  bindings_[IommuGroupId(8)] = {.bindable = true};
  view().rereadNow({IommuGroupId(8)});
  open();
  ASSERT_TRUE(first_);
  EXPECT_TRUE(first_->mayBind);
  ASSERT_EQ(first_->groups.size(), 1U);
  EXPECT_EQ(first_->groups[0].members, kMembersOfEight);
}

TEST_F(BinderChannelTest, TellsDifferencesEachAfterTheOneBeforeWasSeen) {
  open();
  becomes(8, {.bindable = true});
  ASSERT_TRUE(next<binder::Changed>());
  becomes(7, {.stuck = true});
  becomes(8, {.busy = true});
  EXPECT_FALSE(next<binder::Changed>()) << "the one before was not seen";
  ask(binder::Seen{});
  const auto both = next<binder::Changed>();
  ASSERT_TRUE(both);
  EXPECT_EQ(both->groups.size(), 2U);
}

TEST_F(BinderChannelTest, I7_WithoutTheRightNothingIsBound) {
  open(nullptr);
  EXPECT_FALSE(first_->mayBind);
  allocate();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDenied);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, kMembersOfSeven}), Outcome::kDenied);
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, I1_WhatIsNotOnRecordIsNotBound) {
  open();
  ask(binder::Bind{1, kMembersOfSeven});
  const auto answer = next<binder::Answer>();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::kRefused);
  EXPECT_EQ(answer->why, "it is not on record as allocated");
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, I7_AWholeGroupIsBoundAndGivenBack) {
  open();
  allocate();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDone);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, kMembersOfSeven}), Outcome::kDone);
  ASSERT_EQ(binder_.asked.size(), 2U);
  EXPECT_EQ(binder_.asked[0], std::pair(std::string("bind"), kMembersOfSeven));
  EXPECT_EQ(binder_.asked[1], std::pair(std::string("give back"), kMembersOfSeven));
}

TEST_F(BinderChannelTest, I7_MembersThatAreNoWholeGroupAreNotBound) {
  open();
  const std::vector<Bdf> part{kMembersOfSeven.front()};
  allocate(part);
  EXPECT_EQ(outcomeOf(binder::Bind{1, part}), Outcome::kVanished);
  EXPECT_EQ(outcomeOf(binder::GiveBack{2, part}), Outcome::kVanished);
  const std::vector<Bdf> two{kMembersOfSeven[0], kMembersOfSeven[1], kMembersOfEight[0]};
  EXPECT_EQ(outcomeOf(binder::GiveBack{3, two}), Outcome::kVanished);
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, AGroupThatLostAMemberIsNotBound) {
  open();
  allocate();
  tree_.remove("0000:01:00.1");
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kVanished);
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(BinderChannelTest, TellsHowItEnded) {
  const std::vector<std::pair<AllocationAnswer::Outcome, Outcome>> rows{
      {AllocationAnswer::Outcome::kRefused, Outcome::kRefused},
      {AllocationAnswer::Outcome::kFailed, Outcome::kFailed},
      {AllocationAnswer::Outcome::kStuck, Outcome::kStuck},
      {AllocationAnswer::Outcome::kVanished, Outcome::kVanished},
  };
  open();
  allocate();
  std::uint32_t number = 40;
  for (const auto& [planned, told] : rows) {
    binder_.planned = {planned, "why it is so"};
    ask(binder::Bind{++number, kMembersOfSeven});
    EXPECT_EQ(next<binder::Answer>(), (binder::Answer{number, told, "why it is so"}));
  }
}

TEST_F(BinderChannelTest, WhatAChangeLeftIsToldBeforeItsAnswer) {
  open();
  allocate();
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  becomes(7, {.boundForAllocation = true});
  binder_.finishAll();
  const auto changed = next<binder::Changed>();
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->groups.at(0).binding.boundForAllocation);
  ask(binder::Seen{});
  EXPECT_TRUE(next<binder::Answer>());
}

TEST_F(BinderChannelTest, AnAnswerWaitsForWhatCannotBeToldYet) {
  open();
  allocate();
  becomes(8, {.bindable = true});
  ASSERT_TRUE(next<binder::Changed>());  // not seen yet
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  becomes(7, {.boundForAllocation = true});
  binder_.finishAll();
  turn();
  EXPECT_FALSE(heard());
  ask(binder::Seen{});
  EXPECT_TRUE(next<binder::Changed>());
  EXPECT_TRUE(next<binder::Answer>());
}

TEST_F(BinderChannelTest, GroupsAreChangedSideBySide) {
  open();
  allocate(kMembersOfSeven);
  allocate(kMembersOfEight);
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  ask(binder::Bind{2, kMembersOfEight});
  EXPECT_EQ(binder_.asked.size(), 2U);
  EXPECT_FALSE(hungUp());
}

TEST_F(BinderChannelTest, HangsUpOnANinthRequest) {
  open();
  binder_.waits = true;
  for (int device = 3; device < 12; ++device) {
    EXPECT_FALSE(hungUp()) << device;
    ask(binder::GiveBack{static_cast<std::uint32_t>(device), {*Bdf::parse(address(device))}});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
  EXPECT_EQ(binder_.asked.size(), binder::kMostInFlight);
}

// Answers that plugind does not let out count, or it could have us keep any number.
TEST_F(BinderChannelTest, I7_AnAnswerThatCannotBeToldIsInFlight) {
  open();
  becomes(8, {.bindable = true});
  for (int device = 3; device < 12; ++device) {
    ask(binder::GiveBack{static_cast<std::uint32_t>(device), {*Bdf::parse(address(device))}});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
}

TEST_F(BinderChannelTest, HangsUpOnWhatIsNotAgreed) {
  const auto sends = [this](const std::string& packet, int fd = -1) {
    why_ = std::nullopt;
    binder_.waits = true;
    open();
    ask(binder::GiveBack{1, kMembersOfSeven});
    EXPECT_EQ(sendPacket(plugind_, packet, fd), PacketSent::kSent);
    return hungUp().value_or("it did not");
  };
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{2, kMembersOfSeven}))),
            "a second request for a group");
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{1, kMembersOfEight}))),
            "a second request for a group");
  EXPECT_EQ(sends(encode(binder::Request(binder::Seen{}))), "has seen what it was not told");
  EXPECT_THAT(sends("what is this"), HasSubstr("a request with "));
  EXPECT_THAT(sends(std::string(binder::kLargestRequest + 1, 'x')), HasSubstr("above its size"));
  EXPECT_EQ(sends(encode(binder::Request(binder::GiveBack{2, kMembersOfEight})), STDERR_FILENO),
            "sent a descriptor");
}

// Without the right to bind: mediated devices are never bound.
TEST_F(BinderChannelTest, AProbeOpensTheGroupsNodeAndSaysWhatCameOfIt) {
  using Found = binder::Probed::Found;
  open(nullptr);
  EXPECT_EQ(probed(1, 7), (binder::Probed{1, Found::kIdle, 0}));
  EXPECT_EQ(probed(2, 9), (binder::Probed{2, Found::kCannot, ENOENT}));
}

TEST_F(BinderChannelTest, I6_WithoutTheRightNoGroupIsOpened) {
  mayProbe_ = false;
  open();
  EXPECT_EQ(probed(1, 7), (binder::Probed{1, binder::Probed::Found::kDenied, 0}));
}

// Also over another channel: a peer that dials anew gets no more of them.
TEST_F(BinderChannelTest, I1_AGroupIsOpenedOnceASecondWhateverTheChannel) {
  open();
  ASSERT_TRUE(probed(1, 7));
  open();
  EXPECT_FALSE(probed(1, 7)) << "it waits";
  EXPECT_TRUE(probed(2, 8)) << "another group does not";
  io_.provider->getTimer().afterDelay(1 * kj::SECONDS).wait(io_.waitScope);
  EXPECT_EQ(next<binder::Probed>(), (binder::Probed{1, binder::Probed::Found::kIdle, 0}));
}

TEST_F(BinderChannelTest, HangsUpOnASecondProbeOfAGroupAndOnANinth) {
  open();
  ASSERT_TRUE(probed(1, 7));
  ask(binder::Probe{2, IommuGroupId(7)});
  ask(binder::Probe{3, IommuGroupId(7)});
  EXPECT_EQ(hungUp(), "a second request for a group");
  why_ = std::nullopt;
  open();
  becomes(8, {.bindable = true});  // no answer goes out before that is seen
  for (std::uint32_t number = 0; number <= binder::kMostInFlight; ++number) {
    EXPECT_FALSE(hungUp()) << number;
    ask(binder::Probe{number, IommuGroupId(900 + number)});
  }
  EXPECT_EQ(hungUp(), "more requests at once than it may");
}

// Without the right to bind, and to probe.
TEST_F(BinderChannelTest, ACardIsAskedForItsSerialNumber) {
  using Found = binder::SerialTold::Found;
  putVitalData("0000:01:00.0", "MT2112X01234");
  tree_.setAttribute("0000:01:00.1", "vpd", "\x78");
  mayProbe_ = false;
  open(nullptr);
  EXPECT_EQ(told(1, kMembersOfSeven[0]),
            (binder::SerialTold{1, Found::kSerial, 0, "MT2112X01234"}));
  EXPECT_EQ(told(2, kMembersOfSeven[1]), (binder::SerialTold{2, Found::kNone, 0, ""}));
  EXPECT_EQ(told(3, kMembersOfEight[0]), (binder::SerialTold{3, Found::kNone, 0, ""}))
      << "it has no vital product data";
  EXPECT_EQ(told(4, *Bdf::parse("0000:77:00.0")), (binder::SerialTold{4, Found::kNone, 0, ""}));
}

TEST_F(BinderChannelTest, I6_WithoutTheRightNoCardIsAsked) {
  putVitalData("0000:01:00.0", "MT2112X01234");
  mayAsk_ = false;
  open();
  EXPECT_EQ(told(1, kMembersOfSeven[0]),
            (binder::SerialTold{1, binder::SerialTold::Found::kDenied, 0, ""}));
}

TEST_F(BinderChannelTest, ACardIsAskedOnceASecondWhateverTheChannel) {
  putVitalData("0000:01:00.0", "MT1");
  open();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(told(1, kMembersOfSeven[0]).serial, "MT1");
  open();
  EXPECT_EQ(told(1, kMembersOfSeven[0]).serial, "MT1");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(BinderChannelTest, APeerThatLeavesIsNoFault) {
  open();
  plugind_ = nullptr;
  EXPECT_EQ(hungUp(), "");
}

TEST_F(BinderChannelTest, APeerThatLeavesMeanwhileTakesNothingWithIt) {
  open();
  allocate();
  binder_.waits = true;
  ask(binder::Bind{1, kMembersOfSeven});
  channel_ = nullptr;
  binder_.finishAll();
  turn();
  binder_.waits = false;
  open();
  EXPECT_EQ(outcomeOf(binder::Bind{1, kMembersOfSeven}), Outcome::kDone);
}

}  // namespace
}  // namespace vfiogate
