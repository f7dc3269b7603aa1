#include "privd/scan/uevent_socket.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

const std::string kBind = std::string("bind@/devices/x\0ACTION=bind\0SUBSYSTEM=pci\0", 42);

kj::AutoCloseFd netlinkSocket() {
  return kj::AutoCloseFd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
}

/// The kernel passes this on to the namespace's listeners as its own event.
void injectAsKernel(const std::string& text) {
  const auto fd = netlinkSocket();
  std::string message(NLMSG_HDRLEN, '\0');
  nlmsghdr header = {};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + text.size());
  header.nlmsg_type = NLMSG_MIN_TYPE;
  header.nlmsg_flags = NLM_F_REQUEST;
  memcpy(message.data(), &header, sizeof(header));
  message += text;
  ASSERT_EQ(send(fd, message.data(), message.size(), 0), static_cast<ssize_t>(message.size()));
}

/// Another process's own multicast to the group of the kernel's events.
void forge(const std::string& text) {
  const auto fd = netlinkSocket();
  sockaddr_nl to = {};
  to.nl_family = AF_NETLINK;
  to.nl_groups = 1;
  const ssize_t sent =
      sendto(fd, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  ASSERT_EQ(sent, static_cast<ssize_t>(text.size())) << strerror(errno);
}

/// In a network namespace of its own, where nobody else's events are heard.
class UeventSocketTest : public testing::Test {
protected:
  ~UeventSocketTest() noexcept override = default;
  void SetUp() override {
    if (unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "no new network namespace: " << strerror(errno);
    auto opened = openUeventSocket();
    ASSERT_TRUE(opened);
    listener_.emplace(
        io_.unixEventPort, kj::mv(opened).value(),
        [this](const Places& where) { hints_.push_back(where); }, counts_);
  }
  /// Lets the loop do all that it can do now: delivery over netlink is synchronous.
  void settle() { io_.waitScope.poll(); }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::vector<Places> hints_;
  DiscoveryCounts counts_;
  kj::Maybe<UeventListener> listener_;
};

TEST_F(UeventSocketTest, I9_TheKernelsEventIsAHint) {
  injectAsKernel(kBind);
  settle();
  ASSERT_EQ(hints_.size(), 1U);
  EXPECT_EQ(counts_[DiscoveryCount::kForeign], 0U);
}

TEST_F(UeventSocketTest, I9_AForgedEventIsIgnoredAndCounted) {
  forge(kBind);
  forge(kBind);
  settle();
  EXPECT_TRUE(hints_.empty());
  EXPECT_EQ(counts_[DiscoveryCount::kForeign], 2U);
}

TEST_F(UeventSocketTest, I9_LostEventsAreAHint) {
  // More than any receive buffer takes; the kernel says so once.
  for (int i = 0; i < 60'000; ++i) forge(std::string(2000, 'x'));
  settle();
  EXPECT_GE(counts_[DiscoveryCount::kLosses], 1U);
  EXPECT_TRUE(std::ranges::count(hints_, Places{}) > 0);
}

TEST_F(UeventSocketTest, NoiseOfOtherSubsystemsIsNone) {
  injectAsKernel(std::string("add@/devices/y\0SUBSYSTEM=net\0", 29));
  settle();
  EXPECT_TRUE(hints_.empty());
}

}  // namespace
}  // namespace vfiogate
