// The server with a stand-in for the device, and launchers that behave and that do not.

#include "privd/iommufd/iommufd_server.h"

#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>
#include <kj/debug.h>

#include <linux/capability.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;

class IommufdServerTest : public testing::Test {
protected:
  IommufdServerTest() : signals_(eventfd(0, EFD_CLOEXEC)) {
    auto made = listenAt(dir_.path().c_str(), "iommufd.sock", WhoMayConnect::kEverybody);
    server_.emplace(kj::mv(made).value(), signals_.get(), [this] { return open(); });
  }

  ~IommufdServerTest() noexcept override = default;

  Result<kj::AutoCloseFd, ContextError> open() {
    if (missing_ != 0) return Failure{ContextError{"open", missing_}};
    ++opened_;
    return kj::AutoCloseFd(memfd_create("context", MFD_CLOEXEC));
  }

  kj::AutoCloseFd dial() { return dialAt((dir_ / "iommufd.sock").c_str()).value(); }
  /// Until nothing comes any more.
  void serve() {
    for (int turn = 0; turn < 16; ++turn) ASSERT_TRUE(server_->turn(1ms));
  }
  /// What came of the descriptor: its inode, 0 where the server hung up, -1 where nothing came.
  static long received(int connection) {
    pollfd readable{connection, POLLIN, 0};
    if (poll(&readable, 1, 0) == 0) return -1;
    auto packet = receivePacket(connection, 1);
    if (!packet) return 0;
    auto& came = KJ_ASSERT_NONNULL(*packet);
    EXPECT_EQ(came.bytes, std::string(1, '\0'));
    struct stat status = {};
    KJ_SYSCALL(fstat(KJ_ASSERT_NONNULL(came.fd).get(), &status));
    return static_cast<long>(status.st_ino);
  }
  static bool isHungUp(int connection) {
    char byte = 0;
    return read(connection, &byte, 1) == 0;
  }

  TempDir dir_;
  kj::AutoCloseFd signals_;
  int missing_ = 0;  ///< the errno of opening, which fails then
  int opened_ = 0;
  std::optional<IommufdServer> server_;
};

TEST_F(IommufdServerTest, HandsOverADescriptorAndHangsUpAfterTheReply) {
  const auto launcher = dial();
  serve();
  EXPECT_GT(received(launcher), 0);
  EXPECT_EQ(server_->waiting(), 1U);
  EXPECT_FALSE(isHungUp(launcher));
  ASSERT_EQ(write(launcher, "1", 1), 1);
  serve();
  EXPECT_EQ(server_->waiting(), 0U);
  EXPECT_TRUE(isHungUp(launcher));
}

TEST_F(IommufdServerTest, GivesEachOneOfItsOwn) {
  const auto first = dial();
  const auto second = dial();
  serve();
  EXPECT_NE(received(first), received(second));
  EXPECT_EQ(opened_, 2);
}

TEST_F(IommufdServerTest, TakesThatTheOtherHangsUpForAReply) {
  {
    const auto silent = dial();
    serve();
    EXPECT_EQ(server_->waiting(), 1U);
  }
  serve();
  EXPECT_EQ(server_->waiting(), 0U);
}

TEST_F(IommufdServerTest, HangsUpWithoutADescriptorWhereThereIsNoDeviceAndTriesAgainForTheNext) {
  missing_ = ENOENT;
  const auto refused = dial();
  serve();
  EXPECT_EQ(received(refused), 0);
  EXPECT_EQ(server_->waiting(), 0U);
  missing_ = 0;
  const auto next = dial();
  serve();
  EXPECT_GT(received(next), 0);
}

TEST_F(IommufdServerTest, OfSilentOnesTheOldestMakesRoomForTheSixtyFifth) {
  std::vector<kj::AutoCloseFd> silent;
  for (std::size_t i = 0; i < IommufdServer::kMostPeers; ++i) {
    silent.push_back(dial());
    serve();
  }
  EXPECT_EQ(server_->waiting(), IommufdServer::kMostPeers);
  const auto next = dial();
  serve();
  EXPECT_EQ(server_->waiting(), IommufdServer::kMostPeers);
  EXPECT_GT(received(next), 0);
  // It was sent its descriptor before, and has it still.
  EXPECT_GT(received(silent.front()), 0);
  EXPECT_TRUE(isHungUp(silent.front()));
  EXPECT_GT(received(silent.back()), 0);
  EXPECT_FALSE(isHungUp(silent.back()));
}

TEST_F(IommufdServerTest, DropsWhoDoesNotReply) {
  const auto silent = dial();
  serve();
  const auto begun = IommufdServer::Clock::now();
  while (server_->waiting() != 0) ASSERT_TRUE(server_->turn(1min));
  const auto took = IommufdServer::Clock::now() - begun;
  EXPECT_GE(took, IommufdServer::kPatience - 100ms);
  EXPECT_LT(took, IommufdServer::kPatience + 5s);
  EXPECT_GT(received(silent), 0);
  EXPECT_TRUE(isHungUp(silent));
}

// As privd-iommufd is, with its limit and with no capability in force: either lifts the kernel's.
TEST_F(IommufdServerTest, OfDescriptorsLeftUnreadThereAreNoMoreThanItsLimit) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, whose descriptors under way are counted";
  constexpr rlim_t kLimit = 256;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kLimit, kLimit};
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || syscall(SYS_capset, &header, none) != 0) _exit(1);
    server_->run();
    _exit(0);
  }
  std::vector<kj::AutoCloseFd> unread;
  while (unread.size() < kLimit + 100) {
    auto dialled = dialAt((dir_ / "iommufd.sock").c_str());
    if (dialled) {
      unread.push_back(kj::mv(dialled).value());
    } else {
      usleep(1000);  // its queue is full
    }
  }
  std::size_t given = 0;
  for (const auto& connection : unread) {
    pollfd readable{connection.get(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1);
  }
  for (const auto& connection : unread) given += received(connection) > 0 ? 1 : 0;
  EXPECT_GT(given, IommufdServer::kMostPeers);
  EXPECT_LE(given, kLimit + 1);
  // They were read, and the next one is served.
  const auto next = dial();
  pollfd readable{next.get(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 10'000), 1);
  EXPECT_GT(received(next), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(IommufdServerTest, WithoutADescriptorForWhoConnectsItSaysSoAndServesOnceThereIsOne) {
  const auto launcher = dial();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  {
    const kj::AutoCloseFd next(dup(signals_.get()));
    const rlimit none{static_cast<rlim_t>(next.get()), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  serve();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("event=iommufd_refused step=accept error=\"Too many open"));
  EXPECT_EQ(said.find("iommufd_refused"), said.rfind("iommufd_refused")) << "once a second";
  const auto begun = IommufdServer::Clock::now();
  while (received(launcher) == -1 && IommufdServer::Clock::now() < begun + 10s) {
    ASSERT_TRUE(server_->turn(10s));
  }
  EXPECT_EQ(server_->waiting(), 1U);
}

TEST_F(IommufdServerTest, EndsByASignalWhoeverWaits) {
  const auto silent = dial();
  serve();
  eventfd_write(signals_, 1);
  EXPECT_FALSE(server_->turn(1min));
}

}  // namespace
}  // namespace vfiogate::test
