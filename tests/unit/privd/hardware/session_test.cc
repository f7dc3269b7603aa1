// A session of plugind's with privd's own servers.

#include "tests/unit/privd/hardware/served_rpc.h"

#include <capnp/capability.h>

#include <filesystem>

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

// Slots are read once a sweep: a reread must not seem to take one away.
TEST_F(SessionTest, ARereadHasTheSlotOfTheLastSweep) {
  tree_.addSlot("4", "0000:01:00");
  source_.emplace(io_.provider->getTimer(), 1, Rescan::mostlyGlances(10 * kj::SECONDS),
                  scanDeps(sysfs_, dev_), counts_);
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(7));
  const auto before = KJ_ASSERT_NONNULL(source_).current().generation;
  const auto reply = control.rereadRequest().send().wait(io_.waitScope);
  EXPECT_EQ(kj::StringPtr(reply.getAnswer().getSeen().getDevices()[0].getSlot()), "4");
  EXPECT_EQ(KJ_ASSERT_NONNULL(source_).current().generation, before);
}

// plugind waits until its view has what the reread saw: a name that another function told is in
// both.
TEST_F(SessionTest, ARereadOfAVgpuCallsItsTypeAsTheCardTold) {
  tree_.add({.address = "0000:02:00.1", .group = 9});
  for (const char* address : {"0000:02:00.0", "0000:02:00.1"}) {
    const std::filesystem::path at = tree_.directoryOf(address);
    std::filesystem::create_symlink("../0000:01:00.0", at / "physfn");
    std::filesystem::create_directories(at / "nvidia");
    tree_.setAttribute(address, "nvidia/creatable_vgpu_types", "ID    : vGPU Name\n");
    tree_.setAttribute(address, "nvidia/current_vgpu_type", "0\n");
  }
  auto& source = KJ_ASSERT_NONNULL(source_);
  source.rereadNow(
      {.devices = {*Bdf::parse("0000:02:00.0"), *Bdf::parse("0000:02:00.1")}, .groups = {}});
  ServedPeer plugind(node_, io_);
  auto control = plugind.watch(plugind.enter()).at(IommuGroupId(8));
  tree_.setAttribute("0000:02:00.1", "nvidia/creatable_vgpu_types", "1147  : NVIDIA L40S-1Q\n");
  tree_.setAttribute("0000:02:00.0", "nvidia/current_vgpu_type", "1147\n");
  const auto before = source.current().generation;
  for (int twice = 0; twice < 2; ++twice) {
    const auto answer = control.rereadRequest().send().wait(io_.waitScope);
    ASSERT_TRUE(answer.getAnswer().isSeen());
    const auto seen = answer.getAnswer().getSeen().getDevices()[0];
    EXPECT_EQ(seen.getVgpuType(), 1147);
    EXPECT_EQ(std::string(seen.getVgpuTypeName().cStr()), "NVIDIA L40S-1Q");
    EXPECT_EQ(source.current().generation, before + 1) << "news once";
  }
}

}  // namespace
}  // namespace vfiogate
