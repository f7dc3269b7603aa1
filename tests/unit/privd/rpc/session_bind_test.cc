// Binding over a session of plugind's: who may, and what is told of it.

#include "tests/unit/privd/rpc/served_rpc.h"

namespace vfiogate {
namespace {

const std::vector<Bdf> kMembersOfSeven{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
constexpr Rights kMayBind{.watch = true, .kubelet = true, .cdi = true, .bind = true};

/// Answers what it was told to, when it was told to.
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

  AllocationAnswer planned;
  kj::Maybe<kj::Promise<AllocationAnswer>> later;
  std::vector<std::pair<std::string, std::vector<Bdf>>> asked;

private:
  kj::Promise<AllocationAnswer> answer() {
    KJ_IF_MAYBE (promise, later) return kj::mv(*promise);
    return planned;
  }
};

class SessionBindTest : public ServedRpc {
protected:
  SessionBindTest() : node_(node()) {}
  ~SessionBindTest() noexcept override = default;
  kj::Maybe<AllocationBinder&> binder() override { return binder_; }

  using Answered = capnp::Response<schema::GroupControl::BindResults>;
  Answered bind(ServedPeer& peer, std::uint32_t group = 7) {
    auto control = peer.watch(peer.enter()).at(IommuGroupId(group));
    allocate();
    return control.bindRequest().send().wait(io_.waitScope);
  }
  void allocate(const std::vector<Bdf>& members = kMembersOfSeven) {
    ASSERT_TRUE(records_.allocate(members, "resource=vfiogate.dev/gpu", records_.newSession()));
  }
  /// What plugind hears of an outcome.
  Answered hears(AllocationAnswer::Outcome outcome) {
    binder_.planned = {outcome, "why it is so"};
    ServedPeer plugind(node_, io_, kMayBind);
    return bind(plugind);
  }

  PlannedBinder binder_;
  Node node_;
};

TEST_F(SessionBindTest, I7_WithoutTheRightNothingIsBound) {
  ServedPeer plugind(node_, io_);
  auto& controls = plugind.watch(plugind.enter());
  auto control = controls.at(IommuGroupId(7));
  EXPECT_TRUE(control.bindRequest().send().wait(io_.waitScope).getAnswer().isDenied());
  EXPECT_TRUE(control.giveBackRequest().send().wait(io_.waitScope).getAnswer().isDenied());
  EXPECT_TRUE(binder_.asked.empty());
  EXPECT_FALSE(plugind.knock().getAnswer().getMayBind());
}

TEST_F(SessionBindTest, I1_WhatIsNotOnRecordIsNotBound) {
  ServedPeer plugind(node_, io_, kMayBind);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  const auto answered = control.bindRequest().send().wait(io_.waitScope);
  EXPECT_STREQ(answered.getAnswer().getRefused().cStr(), "it is not on record as allocated");
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(SessionBindTest, NobodyBindsWhereThisPrivdDoesNot) {
  Node without = node();
  without.binder = nullptr;
  ServedPeer plugind(without, io_, kMayBind);
  EXPECT_TRUE(bind(plugind).getAnswer().isDenied());
  EXPECT_FALSE(plugind.knock().getAnswer().getMayBind());
}

TEST_F(SessionBindTest, I7_AControlBindsTheMembersThatItWasMadeFor) {
  ServedPeer plugind(node_, io_, kMayBind);
  auto& controls = plugind.watch(plugind.enter());
  EXPECT_TRUE(plugind.knock().getAnswer().getMayBind());
  auto control = controls.at(IommuGroupId(7));
  allocate();
  EXPECT_TRUE(control.bindRequest().send().wait(io_.waitScope).getAnswer().isDone());
  EXPECT_TRUE(control.giveBackRequest().send().wait(io_.waitScope).getAnswer().isDone());
  ASSERT_EQ(binder_.asked.size(), 2U);
  EXPECT_EQ(binder_.asked[0], std::pair(std::string("bind"), kMembersOfSeven));
  EXPECT_EQ(binder_.asked[1], std::pair(std::string("give back"), kMembersOfSeven));
}

TEST_F(SessionBindTest, TellsHowItEnded) {
  EXPECT_STREQ(hears(AllocationAnswer::Outcome::kRefused).getAnswer().getRefused().cStr(),
               "why it is so");
  EXPECT_STREQ(hears(AllocationAnswer::Outcome::kFailed).getAnswer().getFailed().cStr(),
               "why it is so");
  EXPECT_STREQ(hears(AllocationAnswer::Outcome::kStuck).getAnswer().getStuck().cStr(),
               "why it is so");
  EXPECT_TRUE(hears(AllocationAnswer::Outcome::kVanished).getAnswer().isVanished());
}

TEST_F(SessionBindTest, AGroupThatLostAMemberIsNotBound) {
  ServedPeer plugind(node_, io_, kMayBind);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  allocate();
  tree_.remove("0000:01:00.1");
  EXPECT_TRUE(control.bindRequest().send().wait(io_.waitScope).getAnswer().isVanished());
  EXPECT_TRUE(binder_.asked.empty());
}

TEST_F(SessionBindTest, TheAnswerNamesTheGenerationThatShowsIt) {
  auto bound = kj::newPromiseAndFulfiller<AllocationAnswer>();
  binder_.later = kj::mv(bound.promise);
  ServedPeer plugind(node_, io_, kMayBind);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  allocate();
  auto& source = KJ_ASSERT_NONNULL(source_);
  const auto before = source.current().generation;
  auto answer = control.bindRequest().send();
  poll();
  tree_.add({.address = "0000:03:00.0", .group = 9});
  source.hint({});
  while (source.current().generation == before) source.next(before).wait(io_.waitScope);
  bound.fulfiller->fulfill(AllocationAnswer{});
  auto answered = answer.wait(io_.waitScope);
  EXPECT_TRUE(answered.getAnswer().isDone());
  EXPECT_EQ(answered.getAnswer().getGeneration(), source.current().generation);
  EXPECT_GT(answered.getAnswer().getGeneration(), before);
}

TEST_F(SessionBindTest, APeerThatLeavesMeanwhileTakesNothingWithIt) {
  auto bound = kj::newPromiseAndFulfiller<AllocationAnswer>();
  binder_.later = kj::mv(bound.promise);
  {
    ServedPeer plugind(node_, io_, kMayBind);
    auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
    allocate();
    auto answer = control.bindRequest().send();
    poll();
    ASSERT_EQ(binder_.asked.size(), 1U);
  }
  bound.fulfiller->fulfill(AllocationAnswer{});
  poll();
  ServedPeer next(node_, io_, kMayBind);
  binder_.later = nullptr;
  EXPECT_TRUE(bind(next).getAnswer().isDone());
}

}  // namespace
}  // namespace vfiogate
