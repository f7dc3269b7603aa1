#include "privd/scan/uevent_wake.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>
#include <unistd.h>

namespace vfiogate {
namespace {

class UeventWakeTest : public testing::Test {
protected:
  UeventWakeTest() {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    kernel_ = kj::AutoCloseFd(pair[0]);
    wake_.emplace(io_.unixEventPort, io_.provider->getTimer(), kj::AutoCloseFd(pair[1]),
                  [this]() { ++woken_; });
  }
  ~UeventWakeTest() noexcept override = default;

  void event() { EXPECT_EQ(write(kernel_, "add@/devices/x", 14), 14); }
  void pass(kj::Duration by) { io_.provider->getTimer().afterDelay(by).wait(io_.waitScope); }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::AutoCloseFd kernel_;
  int woken_ = 0;
  kj::Maybe<UeventWake> wake_;
};

TEST_F(UeventWakeTest, AnEventWakesAtOnceAndSilenceNever) {
  pass(20 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 0);
  event();
  pass(20 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 1);
  pass(250 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 1);
}

TEST_F(UeventWakeTest, ABurstWakesOnceAndWhatComesLaterIsNotMissed) {
  for (int i = 0; i < 5; ++i) event();
  pass(20 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 1);
  event();  // while it rests
  pass(20 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 1);
  pass(150 * kj::MILLISECONDS);
  EXPECT_EQ(woken_, 2);
}

}  // namespace
}  // namespace vfiogate
