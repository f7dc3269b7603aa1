// Specs of prepared claims, and the DRA driver's sockets, over RPC.

#include "ipc/codec/bounded_lists.h"
#include "privd/cdi/cdi_spec.h"
#include "tests/unit/privd/rpc/served_rpc.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace vfiogate {
namespace {

using test::kClaimUid;
using test::kDraDriver;
using testing::HasSubstr;

constexpr Rights kNoSpecs{.watch = true, .kubelet = true};

class SessionClaimsTest : public ServedRpc {
protected:
  SessionClaimsTest() : node_(node()) {
    for (const char* name : {"cdi", "metadata", "plugins_registry", "plugins"}) {
      std::filesystem::create_directory(dir_ / name);
    }
    std::filesystem::create_directory(dir_ / ("plugins/" + kDraDriver));
  }
  ~SessionClaimsTest() noexcept override = default;

  using Spoil = std::function<void(schema::ClaimSpec::Builder)>;
  using Written = capnp::Response<schema::Session::WriteClaimSpecResults>;

  /// Of the device 0000:02:00.0.
  Written write(
      schema::Session::Client session, const Spoil& spoil = [](auto) {}) {
    auto request = session.writeClaimSpecRequest();
    auto spec = request.initSpec();
    spec.setDriver(kDraDriver);
    spec.setUid(kClaimUid);
    spec.setClaimNamespace("ml");
    spec.setName("train");
    auto device = spec.initDevices(1)[0];
    device.initAddress().setBus(2);
    device.setResource("vfiogate.dev/gpu");
    device.setRequest("gpu");
    device.initHands(1)[0].setBus(2);
    spoil(spec);
    return request.send().wait(io_.waitScope);
  }
  std::string bad(schema::Session::Client session, const Spoil& spoil) {
    auto response = write(kj::mv(session), spoil);
    return response.getAnswer().isBad() ? response.getAnswer().getBad().cStr() : "not bad";
  }
  auto unlink(schema::Session::Client session, kj::StringPtr uid) {
    auto request = session.unlinkClaimSpecRequest();
    request.setUid(uid);
    return request.send().wait(io_.waitScope);
  }
  bool onDisk() { return std::filesystem::exists(dir_ / ("cdi/" + claimFileName(kClaimUid))); }
  bool nothingOnDisk() {
    return std::filesystem::is_empty(dir_ / "cdi") && std::filesystem::is_empty(dir_ / "metadata");
  }

  schema::KubeletGate::Client gateOf(ServedPeer& plugind) {
    return plugind.enter().kubeletRequest().send().wait(io_.waitScope).getAnswer().getGate();
  }
  auto listen(schema::KubeletGate::Client gate, kj::StringPtr driver, schema::DraSocket socket,
              std::uint32_t ticket) {
    auto request = gate.listenDraRequest();
    request.setTicket(ticket);
    request.setDriver(driver);
    request.setSocket(socket);
    return request.send().wait(io_.waitScope);
  }
  std::string registration() { return dir_ / ("plugins_registry/" + kDraDriver + "-reg.sock"); }

  Node node_;
};

TEST_F(SessionClaimsTest, AreWrittenReadAndUnlinked) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  auto written = write(session, [](auto spec) { spec.setMetadata(true); });
  ASSERT_TRUE(written.getAnswer().isInPlace());
  ASSERT_EQ(written.getAnswer().getInPlace().size(), 1U);
  EXPECT_EQ(written.getAnswer().getInPlace()[0].cStr(),
            "vfio.vfiogate.dev/claim=" + kClaimUid + "-0000-02-00-0");
  ASSERT_TRUE(onDisk());
  auto texts = session.claimSpecsRequest().send().wait(io_.waitScope);
  ASSERT_EQ(texts.getAnswer().getTexts().size(), 1U);
  EXPECT_THAT(texts.getAnswer().getTexts()[0].cStr(), HasSubstr("=ml/train;metadata;;"));
  EXPECT_TRUE(unlink(session, kClaimUid).getAnswer().isGone());
  EXPECT_TRUE(nothingOnDisk());
  EXPECT_TRUE(unlink(session, kClaimUid).getAnswer().isGone());
}

TEST_F(SessionClaimsTest, OutliveTheConnection) {
  {
    ServedPeer plugind(node_, io_);
    write(plugind.enter());
  }
  poll();
  EXPECT_TRUE(onDisk());
}

TEST_F(SessionClaimsTest, I7_AreDeniedWithoutTheRight) {
  ServedPeer plugind(node_, io_, kNoSpecs);
  auto session = plugind.enter();
  EXPECT_TRUE(write(session).getAnswer().isDenied());
  EXPECT_TRUE(unlink(session, kClaimUid).getAnswer().isDenied());
  EXPECT_TRUE(session.claimSpecsRequest().send().wait(io_.waitScope).getAnswer().isDenied());
  EXPECT_TRUE(nothingOnDisk());
}

TEST_F(SessionClaimsTest, I7_AreDeniedWhereThisPrivdWritesNone) {
  Node without = node();
  without.claims = nullptr;
  ServedPeer plugind(without, io_);
  EXPECT_TRUE(write(plugind.enter()).getAnswer().isDenied());
  EXPECT_TRUE(nothingOnDisk());
}

TEST_F(SessionClaimsTest, SayWhichDeviceHasNoNode) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  auto response = write(session, [](schema::ClaimSpec::Builder spec) {
    auto device = spec.getDevices()[0];
    device.getAddress().setBus(9);
    device.getHands()[0].setBus(9);
  });
  ASSERT_TRUE(response.getAnswer().isUnreachable());
  EXPECT_EQ(response.getAnswer().getUnreachable().getBus(), 9U);
  std::filesystem::remove(dir_ / "cdi");
  EXPECT_TRUE(write(session).getAnswer().isFailed());
}

// What is not bad is written; the link, which all else hangs on, holds in any case.
TEST_F(SessionClaimsTest, I7_HostileNamesAreBadWithThePartAndWriteNothing) {
  ServedPeer plugind(node_, io_);
  auto session = plugind.enter();
  const std::string nul("train\0x", 7);
  const std::string names[] = {
      "../../../etc", "a\nb", "a\"b", "a\\b", std::string(10240, 'a'), nul, "a;b",
      "a b",          "\xff", ".",    ""};
  for (const std::string& name : names) {
    const kj::StringPtr text(name.data(), name.size());
    EXPECT_THAT(bad(session, [text](auto spec) { spec.setName(text); }), HasSubstr("name"));
    EXPECT_THAT(bad(session, [text](auto spec) { spec.setUid(text); }), HasSubstr("uid"));
    EXPECT_THAT(bad(session, [text](auto spec) { spec.setClaimNamespace(text); }),
                HasSubstr("claimNamespace"));
    EXPECT_THAT(bad(session, [text](auto spec) { spec.setDriver(text); }), HasSubstr("driver"));
    EXPECT_THAT(bad(session, [text](auto spec) { spec.getDevices()[0].setRequest(text); }),
                HasSubstr("request"));
    EXPECT_THAT(bad(session, [text](auto spec) { spec.getDevices()[0].setResource(text); }),
                HasSubstr("resource"));
    if (!name.empty()) {
      EXPECT_THAT(bad(session, [text](auto spec) { spec.setPodClaimName(text); }),
                  HasSubstr("podClaimName"));
      EXPECT_THAT(bad(session, [text](auto spec) { spec.setPool(text); }), HasSubstr("pool"));
    }
    EXPECT_TRUE(unlink(session, text).getAnswer().isBad());
  }
  EXPECT_THAT(bad(session, [](auto spec) { spec.getDevices()[0].getAddress().setDevice(32); }),
              HasSubstr("devices[0].address"));
  EXPECT_THAT(bad(session, [](auto spec) { spec.initDevices(33); }), HasSubstr("devices"));
  EXPECT_TRUE(nothingOnDisk());
  EXPECT_TRUE(write(session).getAnswer().isInPlace());
}

TEST_F(SessionClaimsTest, TheDriversSocketsAreHandedOverWithTheirPaths) {
  ServedPeer plugind(node_, io_);
  auto gate = gateOf(plugind);
  auto arriving = plugind.descriptors().await(1, DescriptorKind::kListener);
  auto service = listen(gate, kDraDriver, schema::DraSocket::SERVICE, 1);
  const std::string path = dir_ / ("plugins/" + kDraDriver + "/dra.sock");
  EXPECT_EQ(service.getAnswer().getEndpoint().cStr(), path);
  const auto fd = arriving.wait(io_.waitScope);
  ASSERT_TRUE(dialAt(path.c_str()));
  EXPECT_TRUE(acceptFrom(fd) != nullptr);
  listen(gate, kDraDriver, schema::DraSocket::REGISTRATION, 2);
  struct stat status = {};
  ASSERT_EQ(stat(registration().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(SessionClaimsTest, I7_ForeignDriversHaveNoSockets) {
  ServedPeer plugind(node_, io_);
  auto gate = gateOf(plugind);
  const std::string nul = kDraDriver + std::string("\0/x", 3);
  for (const std::string& driver : {std::string("gpu.nvidia.com"), std::string(), nul,
                                    std::string("../") + kDraDriver, kDraDriver + "x"}) {
    for (const auto socket : {schema::DraSocket::SERVICE, schema::DraSocket::REGISTRATION}) {
      EXPECT_TRUE(listen(gate, kj::StringPtr(driver.data(), driver.size()), socket, 1)
                      .getAnswer()
                      .isForeignPrefix())
          << driver;
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "plugins_registry"));
}

}  // namespace
}  // namespace vfiogate
