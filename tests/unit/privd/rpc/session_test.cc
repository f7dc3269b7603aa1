// A session of plugind's with privd's own servers.

#include "tests/unit/privd/rpc/served_rpc.h"

#include <capnp/capability.h>

namespace vfiogate {
namespace {

const std::vector<Bdf> kSeven{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
const std::vector<Bdf> kEight{*Bdf::parse("0000:02:00.0")};

class SessionTest : public ServedRpc {
protected:
  SessionTest() : node_(node()) {}
  ~SessionTest() noexcept override = default;

  void allocate(schema::GroupControl::Client control) {
    auto request = control.allocateRequest();
    request.setNote("resource=vfiogate.dev/gpu");
    request.send().wait(io_.waitScope);
  }
  void drop(schema::GroupControl::Client control) {
    control.releaseRequest().send().wait(io_.waitScope);
  }
  void adopted(schema::Session::Client session) {
    session.adoptedRequest().send().wait(io_.waitScope);
  }

  Node node_;
};

TEST_F(SessionTest, HoldsAGroupByItsMembers) {
  ServedPeer plugind(node_, io_);
  auto& controls = plugind.watch(plugind.enter());
  allocate(controls.at(IommuGroupId(7)));
  allocate(controls.at(IommuGroupId(7)));
  EXPECT_TRUE(allocations_.standing(kSeven));
  EXPECT_FALSE(allocations_.standing(kEight));
  drop(controls.at(IommuGroupId(7)));
  drop(controls.at(IommuGroupId(7)));
  EXPECT_FALSE(allocations_.standing(kSeven));
}

TEST_F(SessionTest, KeepsAllocationsWhilePlugindIsAwayUntilTheNextOneIsAdopted) {
  {
    ServedPeer before(node_, io_);
    auto& controls = before.watch(before.enter());
    for (auto& [id, control] : controls) allocate(control);
  }
  poll();
  EXPECT_TRUE(allocations_.standing(kSeven));
  EXPECT_TRUE(allocations_.standing(kEight));
  ServedPeer after(node_, io_);
  auto session = after.enter();
  allocate(after.watch(session).at(IommuGroupId(8)));
  EXPECT_TRUE(allocations_.standing(kSeven)) << "it has not said yet what it knows";
  adopted(session);
  adopted(session);
  EXPECT_FALSE(allocations_.standing(kSeven));
  EXPECT_TRUE(allocations_.standing(kEight));
}

TEST_F(SessionTest, I10_WhoHoldsInALoopHoldsNoMoreThanItsGroups) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  auto& controls = plugind.watch(session);
  for (int i = 0; i < 300; ++i) {
    for (auto& [id, control] : controls) allocate(control);
    adopted(session);
  }
  for (auto& [id, control] : controls) drop(control);
  EXPECT_FALSE(allocations_.standing(kSeven));
  EXPECT_FALSE(allocations_.standing(kEight));
}

TEST_F(SessionTest, AnAllocationIsReleasedAlsoAfterTheGroupLeft) {
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(8));
  allocate(control);
  tree_.remove("0000:02:00.0");
  EXPECT_TRUE(allocations_.standing(kEight));
  drop(control);
  EXPECT_FALSE(allocations_.standing(kEight));
}

TEST_F(SessionTest, EnteringAgainIsTheSameSession) {
  ServedPeer plugind(node_, io_);
  auto handshake = plugind.handshake();
  const auto enter = [&]() {
    auto request = handshake.enterRequest();
    request.setProtocol(schema::PROTOCOL);
    return request.send().wait(io_.waitScope).getAnswer().getSession();
  };
  auto first = enter();
  auto second = enter();
  // One object travels as one number, for which the client has one hook.
  EXPECT_EQ(capnp::ClientHook::from(first).get(), capnp::ClientHook::from(second).get());
  auto one = first.kubeletRequest().send().wait(io_.waitScope).getAnswer().getGate();
  auto other = first.kubeletRequest().send().wait(io_.waitScope).getAnswer().getGate();
  EXPECT_EQ(capnp::ClientHook::from(one).get(), capnp::ClientHook::from(other).get());
}

TEST_F(SessionTest, IsForOnePlugindAtATime) {
  kj::Maybe<ServedPeer> first;
  first.emplace(node_, io_);
  KJ_ASSERT_NONNULL(first).enter();
  ServedPeer second(node_, io_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(second.knock(0).getAnswer().isLeased());
  first = nullptr;
  poll();
  second.enter();
}

TEST_F(SessionTest, WhoShowsTheLeaseComesBackAndAStrangerDoesNot) {
  ServedPeer plugind(node_, io_);
  auto lock = plugind.descriptors().await(ServedPeer::kLeaseTicket, DescriptorKind::kLock);
  const auto lease = plugind.knock(0).getAnswer().getLease();
  const auto held = lock.wait(io_.waitScope);
  EXPECT_NE(lease, 0U);
  ServedPeer stranger(node_, io_);
  EXPECT_TRUE(stranger.knock(0).getAnswer().isLeased());
  EXPECT_TRUE(stranger.knock(lease + 1).getAnswer().isLeased());
  ServedPeer again(node_, io_);
  auto answer = again.knock(lease);
  EXPECT_TRUE(answer.getAnswer().isSession());
  EXPECT_EQ(answer.getAnswer().getLease(), lease);
}

}  // namespace
}  // namespace vfiogate
