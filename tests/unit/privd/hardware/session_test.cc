// A session of plugind's with privd's own servers.

#include "tests/unit/privd/hardware/served_rpc.h"

#include <capnp/capability.h>

namespace vfiogate {
namespace {

class SessionTest : public ServedRpc {
protected:
  ~SessionTest() noexcept override = default;

  Node node_ = node();
};

TEST_F(SessionTest, EnteringAgainIsTheSameSession) {
  ServedPeer plugind(node_, io_);
  const auto first = plugind.knock();
  const auto second = plugind.knock();
  // One object travels as one number, for which the client has one hook.
  EXPECT_EQ(capnp::ClientHook::from(first.getAnswer().getSession()).get(),
            capnp::ClientHook::from(second.getAnswer().getSession()).get());
}

TEST_F(SessionTest, AnotherProtocolIsToldPrivdsOwn) {
  ServedPeer plugind(node_, io_);
  auto request = plugind.handshake().enterRequest();
  request.setProtocol(schema::PROTOCOL - 1);
  const auto answer = request.send().wait(io_.waitScope);
  EXPECT_EQ(answer.getAnswer().getWrongProtocol(), schema::PROTOCOL);
}

TEST_F(SessionTest, ARereadShowsTheGroupAsItIsNow) {
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(8));
  EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isSeen());
  tree_.remove("0000:02:00.0");
  EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isVanished());
}

// plugind waits for its view to show what a change left: it must not wait for the next event.
TEST_F(SessionTest, ARereadTellsObserversItsNewsBeforeItIsAnswered) {
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  auto& source = KJ_ASSERT_NONNULL(source_);
  const auto before = source.current().generation;
  tree_.remove("0000:01:00.1");
  EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isVanished());
  EXPECT_EQ(source.current().generation, before + 1);
  EXPECT_EQ(source.current().snapshot->groups.at(IommuGroupId(7)).members.size(), 1U);
  EXPECT_EQ(source.current().snapshot->devices.size(), 2U);
}

TEST_F(SessionTest, ARereadWithoutNewsMakesNoGeneration) {
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  const auto before = KJ_ASSERT_NONNULL(source_).current().generation;
  EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isSeen());
  EXPECT_EQ(KJ_ASSERT_NONNULL(source_).current().generation, before);
}

}  // namespace
}  // namespace vfiogate
