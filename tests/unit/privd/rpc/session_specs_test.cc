// plugind's declaration of static specs, over RPC.

#include "tests/unit/privd/rpc/served_rpc.h"

namespace vfiogate {
namespace {

class SessionSpecsTest : public ServedRpc {
protected:
  SessionSpecsTest() : node_(node()) { std::filesystem::create_directory(dir_ / "cdi"); }
  ~SessionSpecsTest() noexcept override = default;

  using Declared = capnp::Response<schema::Session::DeclareSpecsResults>;

  kj::Promise<Declared> declare(schema::Session::Client session, const char* resource,
                                std::uint8_t device = 0) {
    auto request = session.declareSpecsRequest();
    auto specs = request.initSpecs(1);
    specs[0].setResource(resource);
    auto address = specs[0].initDevices(1)[0];
    address.setBus(2);
    address.setDevice(device);
    return request.send();
  }

  Node node_;
};

TEST_F(SessionSpecsTest, AreWrittenAndTheAnswerSaysWhatTheySay) {
  ServedPeer plugind(node_, io_);
  auto response = declare(plugind.enter(), "vfiogate.dev/gpu").wait(io_.waitScope);
  const auto outcomes = response.getAnswer().getOutcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_TRUE(outcomes[0].isInPlace());
  const auto nodes = outcomes[0].getInPlace()[0];
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_STREQ(nodes[0].cStr(), "/dev/vfio/vfio");
  EXPECT_STREQ(nodes[1].cStr(), "/dev/vfio/8");
  EXPECT_TRUE(std::filesystem::exists(
      dir_ / ("cdi/" + specFileName(*ResourceName::parse("vfiogate.dev/gpu")))));
}

TEST_F(SessionSpecsTest, SayWhyTheyAreNot) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  const auto which = [&](const char* resource) {
    return declare(session, resource).wait(io_.waitScope).getAnswer().getOutcomes()[0].which();
  };
  EXPECT_EQ(which("gpu"), schema::SpecOutcome::BAD_NAME);
  EXPECT_EQ(which("vfiogate.dev/1"), schema::SpecOutcome::NOT_KIND);
  EXPECT_EQ(which("nvidia.com/gpu"), schema::SpecOutcome::FOREIGN_PREFIX);
  std::filesystem::remove(dir_ / "cdi");
  auto response = declare(session, "vfiogate.dev/gpu").wait(io_.waitScope);
  EXPECT_EQ(response.getAnswer().getOutcomes()[0].getFailed(), ENOENT);
}

TEST_F(SessionSpecsTest, AreDeniedWithoutTheRight) {
  ServedPeer plugind(node_, io_, Rights{.watch = true, .kubelet = true});
  auto response = declare(plugind.enter(), "vfiogate.dev/gpu").wait(io_.waitScope);
  EXPECT_TRUE(response.getAnswer().isDenied());
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "cdi"));
}

TEST_F(SessionSpecsTest, OutliveTheConnection) {
  {
    ServedPeer plugind(node_, io_);
    declare(plugind.enter(), "vfiogate.dev/gpu").wait(io_.waitScope);
  }
  poll();
  EXPECT_FALSE(std::filesystem::is_empty(dir_ / "cdi"));
}

TEST_F(SessionSpecsTest, WhoDeclaresNonsenseIsHungUpOn) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  EXPECT_ANY_THROW(declare(session, "vfiogate.dev/gpu", 32).wait(io_.waitScope));
  EXPECT_NE(plugind.hungUp(), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "cdi"));
}

}  // namespace
}  // namespace vfiogate
