// Whom a role on KJ's loop takes for plugind, and what it says first.

#include "privd/loop/plugind_link.h"

#include "ipc/socket/unix_socket.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

namespace vfiogate {
namespace {

/// Root is never taken for plugind.
uid_t playedUid() {
  constexpr uid_t kPlugind = 64532;
  return geteuid() == 0 ? kPlugind : geteuid();
}

class PlugindLinkTest : public testing::Test {
protected:
  PlugindLinkTest() { chmod(dir_.path().c_str(), 0777); }
  ~PlugindLinkTest() noexcept override = default;

  /// A socket of `uid`, who calls listen().
  kj::AutoCloseFd listenAs(uid_t uid) {
    const uid_t before = geteuid();
    KJ_SYSCALL(seteuid(uid));
    auto made = listenAt(dir_.path().c_str(), "plugind.sock", WhoMayConnect::kEverybody);
    KJ_SYSCALL(seteuid(before));
    return kj::mv(made).value();
  }
  void dialAs(PrivdRole role, uid_t plugindUid = playedUid()) {
    link_.emplace(PlugindLink::Deps{io_.provider->getTimer(), watch_, role, (dir_ / "plugind.sock"),
                                    plugindUid, [this](kj::AutoCloseFd fd) {
                                      served_ = kj::mv(fd);
                                      auto over = kj::newPromiseAndFulfiller<std::string>();
                                      over_ = kj::mv(over.fulfiller);
                                      return kj::mv(over.promise);
                                    }});
  }
  void pass(kj::Duration by) { io_.provider->getTimer().afterDelay(by).wait(io_.waitScope); }
  /// The next connection's opening. Null: nobody dialled in a while.
  std::optional<Opening> openingAt(const kj::AutoCloseFd& listener) {
    for (int i = 0; i < 300; ++i) {
      pass(1 * kj::MILLISECONDS);
      auto accepted = acceptFrom(listener);
      KJ_IF_MAYBE (connection, accepted) {
        auto received = receiveOpening(*connection, kChannelVersion);
        if (!received) return std::nullopt;  // it hung up
        auto opening = kj::mv(received).value();
        connection_ = kj::mv(*connection);
        KJ_IF_MAYBE (one, opening) return kj::mv(*one);
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  NameWatch watch_{io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(),
                   "plugind.sock"};
  kj::AutoCloseFd connection_;
  kj::AutoCloseFd served_;
  kj::Own<kj::PromiseFulfiller<std::string>> over_;
  kj::Maybe<PlugindLink> link_;
};

TEST_F(PlugindLinkTest, TheHardwareProcessSpeaksOnTheConnection) {
  const auto listener = listenAs(playedUid());
  dialAs(PrivdRole::kHardware);
  const auto opening = openingAt(listener);
  ASSERT_TRUE(opening);
  EXPECT_EQ(opening->role, PrivdRole::kHardware);
  EXPECT_TRUE(opening->channel == nullptr);
  ASSERT_EQ(write(served_, "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(connection_, &byte, 1), 1);
}

TEST_F(PlugindLinkTest, TheBinderSpeaksAtItsEndOfAChannel) {
  const auto listener = listenAs(playedUid());
  dialAs(PrivdRole::kBinder);
  auto opening = openingAt(listener);
  ASSERT_TRUE(opening);
  EXPECT_EQ(opening->role, PrivdRole::kBinder);
  auto& channel = KJ_ASSERT_NONNULL(opening->channel);
  ASSERT_EQ(write(served_, "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(channel, &byte, 1), 1);
}

TEST_F(PlugindLinkTest, DialsAgainWhenItIsOver) {
  const auto listener = listenAs(playedUid());
  dialAs(PrivdRole::kBinder);
  ASSERT_TRUE(openingAt(listener));
  testing::internal::CaptureStderr();
  over_->fulfill("it broke a rule");
  EXPECT_TRUE(openingAt(listener));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::AllOf(testing::HasSubstr("peer_hung_up"), testing::HasSubstr("it broke a rule")));
}

TEST_F(PlugindLinkTest, DialsWhenTheSocketAppears) {
  dialAs(PrivdRole::kBinder);
  pass(1700 * kj::MILLISECONDS);  // the pauses have grown
  const auto listener = listenAs(playedUid());
  EXPECT_TRUE(openingAt(listener));
}

TEST_F(PlugindLinkTest, I7_WhoeverElseListensThereIsHungUpOn) {
  const auto listener = listenAs(playedUid());
  dialAs(PrivdRole::kBinder, playedUid() + 1);
  EXPECT_FALSE(openingAt(listener));
  EXPECT_LT(served_.get(), 0);
}

TEST_F(PlugindLinkTest, I7_RootIsNotPlugind) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto listener = listenAs(0);
  dialAs(PrivdRole::kHardware, 0);
  EXPECT_FALSE(openingAt(listener));
  EXPECT_LT(served_.get(), 0);
}

}  // namespace
}  // namespace vfiogate
