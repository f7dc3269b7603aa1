// privd-iommufd as it is shipped, and a client that does what KubeVirt's launcher does.

#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"
#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "sim/base/temp_dir.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>
#include <kj/debug.h>

#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

using Process = std::unique_ptr<ChildProcess>;
using testing::HasSubstr;

class IommufdProcess : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: it serves only as root";
    std::filesystem::create_directory(dir_ / "dev");
  }

  Process start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{builtProgram("privd-iommufd"), "--socket", socket(), "--dev",
                                     dir_ / "dev"};
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<ChildProcess>(command, filteredEnvironment());
  }

  std::string socket() { return dir_ / "own/iommufd.sock"; }

  /// A launcher's turn: true if it was given a descriptor, and replied.
  bool isGiven() {
    const auto connection = dialAt(socket().c_str()).value();
    pollfd readable{connection.get(), POLLIN, 0};
    if (poll(&readable, 1, 10'000) != 1) return false;
    auto packet = receivePacket(connection.get(), 1);
    if (!packet) return false;
    KJ_IF_MAYBE (came, *packet) return came->fd != nullptr && write(connection.get(), "1", 1) == 1;
    return false;
  }

  /// Root of a container may have no CAP_SYS_RESOURCE, and this then has none to keep.
  static bool hasThePower() { return prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE, 0, 0, 0) == 1; }
  /// As far as it comes with a file in the device's place.
  static std::string stepOfNoDevice() { return hasThePower() ? "option" : "capability"; }

  TempDir dir_;
};

TEST_F(IommufdProcess, SaysThatThereIsNoDeviceAndRefusesEachThatConnects) {
  const auto alone = start();
  ASSERT_TRUE(alone->says("event=started role=iommufd " + builtOf("privd-iommufd")))
      << alone->output();
  EXPECT_TRUE(alone->says("event=iommufd_absent")) << alone->output();
  EXPECT_FALSE(isGiven());
  EXPECT_FALSE(isGiven());
  EXPECT_TRUE(alone->saysAll({"event=iommufd_refused step=open"}, 2)) << alone->output();
  alone->signal(SIGTERM);
  EXPECT_EQ(alone->wait(), 0) << alone->output();
}

// Where the module came later; a file is no device, and is not taken for one.
TEST_F(IommufdProcess, LooksAgainForTheNextOne) {
  const auto alone = start();
  ASSERT_TRUE(alone->says("event=started role=iommufd")) << alone->output();
  EXPECT_FALSE(isGiven());
  std::ofstream(dir_ / "dev/iommu").put('\n');
  EXPECT_FALSE(isGiven());
  EXPECT_TRUE(alone->says("event=iommufd_refused step=" + stepOfNoDevice())) << alone->output();
}

TEST_F(IommufdProcess, HandsOverAContextWhereTheKernelHasOne) {
  if (access("/dev/iommu", F_OK) != 0 || !hasThePower()) {
    GTEST_SKIP() << "no /dev/iommu here, or no CAP_SYS_RESOURCE: guest/iommufd_test.sh has both";
  }
  const auto alone = start({"--dev", "/dev"});
  ASSERT_TRUE(alone->says("event=started role=iommufd")) << alone->output();
  EXPECT_TRUE(isGiven()) << alone->output();
  EXPECT_TRUE(alone->says("event=iommufd_sent")) << alone->output();
}

TEST_F(IommufdProcess, IsOpenToWhoIsHandedItsSocketAndItsDirectoryToRootAlone) {
  const auto alone = start();
  ASSERT_TRUE(alone->says("event=started role=iommufd")) << alone->output();
  struct stat status = {};
  ASSERT_EQ(stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, mode_t{S_IFSOCK | 0666});
  ASSERT_EQ(stat((dir_ / "own").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, mode_t{S_IFDIR | 0700});
}

TEST_F(IommufdProcess, HasOneCapabilityAndThatNotInForce) {
  const auto alone = start();
  ASSERT_TRUE(alone->says("event=started role=iommufd")) << alone->output();
  std::ifstream file("/proc/" + std::to_string(alone->pid()) + "/status");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr(hasThePower() ? "CapPrm:\t0000000001000000"  // CAP_SYS_RESOURCE
                                            : "CapPrm:\t0000000000000000"));
  for (const char* none : {"CapInh", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(text, HasSubstr(std::string(none) + ":\t0000000000000000"));
  }
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(text, HasSubstr("Seccomp:\t2"));
}

TEST_F(IommufdProcess, ServesInHalfOfItsMemory) {
  constexpr unsigned long kHalfKib = 5UL << 10U;
  const auto alone = start();
  ASSERT_TRUE(alone->says("event=started role=iommufd")) << alone->output();
  for (int i = 0; i < 64; ++i) isGiven();
  ThreadStatus status = threadStatuses(alone->pid()).begin()->second;
  std::printf("privd-iommufd: VmData %s, VmHWM %s\n", status["VmData"].c_str(),
              status["VmHWM"].c_str());
  if (kOwnAllocator) {
    EXPECT_LT(std::stoul(status["VmData"]), kHalfKib);
  }
}

TEST_F(IommufdProcess, TakesTheNameOfOneThatIsGoneAndOfADirectoryThatARuntimeMade) {
  {
    const auto first = start();
    ASSERT_TRUE(first->says("event=started role=iommufd")) << first->output();
    first->signal(SIGKILL);
    first->wait();
  }
  {
    const auto second = start();
    ASSERT_TRUE(second->says("event=started role=iommufd")) << second->output();
    EXPECT_FALSE(isGiven());
    EXPECT_TRUE(second->says("event=iommufd_refused")) << second->output();
  }
  std::filesystem::remove(socket());
  std::filesystem::create_directory(socket());
  const auto third = start();
  ASSERT_TRUE(third->says("event=started role=iommufd")) << third->output();
  EXPECT_TRUE(std::filesystem::is_socket(socket()));
}

// sendmsg and read are for a device that is there, which the virtual machine has.
TEST_F(IommufdProcess, MakesNoCallThatIsNotInItsTable) {
  std::ofstream(dir_ / "dev/iommu").put('\n');
  const std::string tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  ChildProcess traced({tests + "/trace_calls", "iommufd", builtProgram("privd-iommufd"), "--socket",
                       socket(), "--dev", dir_ / "dev"},
                      filteredEnvironment());
  ASSERT_TRUE(traced.says("event=started role=iommufd")) << traced.output();
  EXPECT_FALSE(isGiven());
  EXPECT_TRUE(traced.says("event=iommufd_refused step=" + stepOfNoDevice())) << traced.output();
  traced.signal(SIGTERM);
  EXPECT_EQ(traced.wait(), 0) << traced.output();
}

TEST_F(IommufdProcess, LeavesADirectoryThatHasSomething) {
  std::filesystem::create_directories(socket() + "/something");
  const auto refused = start();
  EXPECT_EQ(refused->wait(), 1);
  EXPECT_THAT(refused->output(), HasSubstr("iommufd.sock is a directory: Directory not empty"));
}

TEST_F(IommufdProcess, ASecondOneSaysWhoHasTheSocket) {
  const auto first = start();
  ASSERT_TRUE(first->says("event=started role=iommufd")) << first->output();
  const auto second = start();
  EXPECT_EQ(second->wait(), 1);
  EXPECT_THAT(second->output(), HasSubstr("privd-iommufd: --socket is served by another: pid=" +
                                          std::to_string(first->pid())));
}

}  // namespace
}  // namespace vfiogate::test
