#include "seccomp/landlock.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace vfiogate {
namespace {

constexpr int kUnconfined = 254;

class Landlock : public testing::Test {
protected:
  void SetUp() override {
    if (landlockAbi() <= 0) GTEST_SKIP() << "this kernel has no Landlock";
  }

  /// What `act` returns in a child that was confined: 0 or an errno.
  static int confined(std::span<const OpenPlace> places, std::optional<std::uint16_t> dials,
                      const std::function<int()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      const Landlocked is = confine(places, dials);
      _exit(!is.failure && is.abi == landlockAbi() ? act() : kUnconfined);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static std::function<int()> opening(const char* path, int flags) {
    return [=]() { return open(path, flags) >= 0 ? 0 : errno; };
  }
  static std::function<int()> dialling(std::uint16_t port) {
    return [=]() {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 ? 0 : errno;
    };
  }
};

TEST_F(Landlock, WithoutPlacesLeavesNoFileAtAll) {
  EXPECT_EQ(confined({}, {}, opening("/", O_RDONLY | O_DIRECTORY)), EACCES);
  EXPECT_EQ(confined({}, {}, opening("/proc/self/status", O_RDONLY)), EACCES);
  EXPECT_EQ(confined({}, {}, opening("/dev/null", O_WRONLY)), EACCES);
}

TEST_F(Landlock, LeavesWhatIsOpen) {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(confined({}, {}, [null]() { return write(null, "x", 1) == 1 ? 0 : errno; }), 0);
  close(null);
}

TEST_F(Landlock, OpensBelowAPlaceWhatItsRightsSay) {
  const int dev = open("/dev", O_PATH | O_CLOEXEC);
  const OpenPlace place{dev, kReadFile};
  EXPECT_EQ(confined({&place, 1}, {}, opening("/dev/null", O_RDONLY)), 0);
  EXPECT_EQ(confined({&place, 1}, {}, opening("/dev/null", O_WRONLY)), EACCES);
  EXPECT_EQ(confined({&place, 1}, {}, opening("/dev", O_RDONLY | O_DIRECTORY)), EACCES);
  close(dev);
}

TEST_F(Landlock, TakesAFileForAPlaceWhateverRightsOfDirectoriesAreNamed) {
  const int null = open("/dev/null", O_PATH | O_CLOEXEC);
  const OpenPlace place{null, kReadFile | kReadDirectory | kMakeFile};
  EXPECT_EQ(confined({&place, 1}, {}, opening("/dev/null", O_RDONLY)), 0);
  EXPECT_EQ(confined({&place, 1}, {}, opening("/dev/zero", O_RDONLY)), EACCES);
  close(null);
}

// A descriptor keeps that right, or its lack, with whomever it is handed to.
TEST_F(Landlock, AsksADeviceOnlyWhereItWasOpenedWithThatRight) {
  if (landlockAbi() < 5) GTEST_SKIP() << "this kernel's Landlock does not judge ioctl()";
  const auto asking = []() {
    const int device = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int number = 0;
    return device >= 0 && ioctl(device, TIOCGPTN, &number) == 0 ? 0 : errno;
  };
  const int device = open("/dev/ptmx", O_PATH | O_CLOEXEC);
  const OpenPlace closed{device, kReadFile | kWriteFile};
  EXPECT_EQ(confined({&closed, 1}, {}, asking), EACCES);
  const OpenPlace open{device, kReadFile | kWriteFile | kAskDevice};
  EXPECT_EQ(confined({&open, 1}, {}, asking), 0);
  close(device);
}

TEST_F(Landlock, DialsNobodyButThePortThatItWasGiven) {
  if (landlockAbi() < 4) GTEST_SKIP() << "this kernel's Landlock does not judge TCP";
  EXPECT_EQ(confined({}, {}, dialling(9)), EACCES);
  EXPECT_EQ(confined({}, 10, dialling(9)), EACCES);
  EXPECT_EQ(confined({}, 9, dialling(9)), ECONNREFUSED);
}

TEST_F(Landlock, IsNotInForceWhereARuleCannotBeHad) {
  const OpenPlace place{-1, kReadFile};
  EXPECT_EQ(confined({&place, 1}, {}, []() { return 0; }), kUnconfined);
}

}  // namespace
}  // namespace vfiogate
