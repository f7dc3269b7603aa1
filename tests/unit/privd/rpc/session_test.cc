// A session of plugind's with privd's own servers.

#include "tests/unit/privd/rpc/served_rpc.h"

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

TEST_F(SessionTest, I7_WhoMayOnlyWatchHasNoControl) {
  ServedPeer visitor(node_, io_, {.watch = true});
  EXPECT_EQ(visitor.updateOf(visitor.enter()).controls.size(), 0U);
  EXPECT_FALSE(visitor.knock().getAnswer().getMayBind());
}

}  // namespace
}  // namespace vfiogate
