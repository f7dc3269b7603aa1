// The mounted simulation, used as an operator and as privd use a real sysfs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "privd/base/open_file.h"
#include "tests/integration/sim/sim_case.h"
#include "tests/integration/sim/uevent_listener.h"

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kCard = "0000:01:00.0";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "." : value;
}

/// One write, as `echo` does it but without O_TRUNC; an errno or 0.
int writeOnce(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : 0;
  ::close(fd);
  return error;
}

std::string readAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string linkName(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

/// A process of its own, whose exit status is what `act` returns.
pid_t inProcess(const std::function<int()>& act) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(act());
  return pid;
}

int statusOf(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char stateOf(pid_t pid) {
  const std::string line = readAll("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = line.rfind(')');
  return end == std::string::npos ? '?' : line[end + 2];
}

class Mounted : public SimCase {
protected:
  void SetUp() override {
    SimCase::SetUp();
    if (IsSkipped()) return;
    start("on");
    ASSERT_TRUE(listener_->bound());
  }

  void start(const std::string& uevents) {
    auto started =
        SimProcess::start({variable("VFIOGATE_BIN") + "/sim-sysfs",
                           variable("VFIOGATE_SOURCE") + "/tests/topologies/two-in-group.yaml",
                           directory_ / "mnt", directory_ / "ctl", uevents});
    ASSERT_TRUE(started.has_value()) << started.error();
    sim_ = std::move(started).value();
  }

  std::string pci(const std::string& path) const { return sim_->sysfs() + "/bus/pci/" + path; }
  std::string device(const std::string& attribute) const {
    return pci(std::string("devices/") + kCard + "/" + attribute);
  }

  void giveCardToVfio() {
    ASSERT_EQ(writeOnce(device("driver_override"), "vfio-pci"), 0);
    ASSERT_EQ(writeOnce(pci("drivers/e1000e/unbind"), kCard), 0);
    ASSERT_EQ(writeOnce(pci("drivers/vfio-pci/bind"), kCard), 0);
  }

  // Owned indirectly: its descriptor's destructor may throw, a fixture's may not.
  std::unique_ptr<UeventListener> listener_ = std::make_unique<UeventListener>();
};

TEST_F(Mounted, BindByPlainWritesMovesLinksAndTellsEvents) {
  listener_->take();
  EXPECT_EQ(linkName(device("driver")), "e1000e");
  ASSERT_EQ(writeOnce(device("driver_override"), "vfio-pci"), 0);
  EXPECT_THAT(listener_->take(), IsEmpty());
  ASSERT_EQ(writeOnce(device("driver/unbind"), kCard), 0);
  EXPECT_THAT(listener_->take(), ElementsAre("unbind 0000:01:00.0"));
  EXPECT_EQ(linkName(device("driver")), "");
  ASSERT_EQ(writeOnce(pci("drivers/vfio-pci/bind"), kCard), 0);
  EXPECT_THAT(listener_->take(), ElementsAre("add 3", "add vfio0", "bind 0000:01:00.0"));
  EXPECT_EQ(linkName(device("driver")), "vfio-pci");
  EXPECT_TRUE(std::filesystem::exists(pci("drivers/vfio-pci/0000:01:00.0/vendor")));
  EXPECT_EQ(readAll(device("vendor")), "0x8086\n");
  EXPECT_EQ(writeOnce(pci("drivers/vfio-pci/bind"), kCard), EBUSY);
}

TEST_F(Mounted, ShellRedirectionWorksToo) {
  const std::string command = "echo vfio-pci > " + device("driver_override");
  // A shell truncates first, which sysfs ignores.
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
  EXPECT_EQ(readAll(device("driver_override")), "vfio-pci\n");
}

TEST_F(Mounted, GroupNodeIsACharacterDevice) {
  struct stat status {};
  EXPECT_NE(::stat((sim_->dev() + "/vfio/3").c_str(), &status), 0);
  giveCardToVfio();
  ASSERT_EQ(::stat((sim_->dev() + "/vfio/3").c_str(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((sim_->dev() + "/vfio/vfio").c_str(), &status), 0);
  EXPECT_EQ(::major(status.st_rdev), 10U);
  EXPECT_EQ(::minor(status.st_rdev), 196U);
}

TEST_F(Mounted, UnbindOfADeviceInUseHangsTheWriterAndNobodyElse) {
  giveCardToVfio();
  ASSERT_EQ(sim_->command("open 0000:01:00.0"), "ok\n");
  EXPECT_EQ(readAll(device("enable")), "1\n");
  listener_->take();
  const pid_t writer = inProcess([&] { return writeOnce(pci("drivers/vfio-pci/unbind"), kCard); });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  EXPECT_EQ(linkName(device("driver")), "");
  EXPECT_EQ(readAll(device("enable")), "1\n");
  EXPECT_EQ(writeOnce(pci("drivers/e1000/unbind"), "0000:03:01.0"), 0);
  EXPECT_EQ(writeOnce(pci("drivers/vfio-pci/unbind"), "0000:03:02.0"), ENODEV)
      << "the same file takes another write";
  EXPECT_THAT(listener_->take(), ElementsAre("unbind 0000:03:01.0"));
  ASSERT_EQ(sim_->command("close 0000:01:00.0"), "ok\n");
  EXPECT_EQ(statusOf(writer), 0);
  EXPECT_THAT(listener_->take(), ElementsAre("remove vfio0", "remove 3", "unbind 0000:01:00.0"));
}

TEST_F(Mounted, KilledWriterStaysUntilTheDeviceIsReleased) {
  giveCardToVfio();
  ASSERT_EQ(sim_->command("open 0000:01:00.0"), "ok\n");
  const pid_t writer = inProcess([&] { return writeOnce(pci("drivers/vfio-pci/unbind"), kCard); });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  ASSERT_EQ(::kill(writer, SIGKILL), 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (stateOf(writer) != 'D' && std::chrono::steady_clock::now() < deadline) ::sched_yield();
  EXPECT_EQ(stateOf(writer), 'D');
  EXPECT_EQ(::waitpid(writer, nullptr, WNOHANG), 0);
  ASSERT_EQ(sim_->command("close 0000:01:00.0"), "ok\n");
  EXPECT_EQ(statusOf(writer), -1) << "killed, in the end";
}

TEST_F(Mounted, ReadingUeventDuringAHangingUnbindHangs) {
  giveCardToVfio();
  ASSERT_EQ(sim_->command("open 0000:01:00.0"), "ok\n");
  const pid_t writer = inProcess([&] { return writeOnce(pci("drivers/vfio-pci/unbind"), kCard); });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  const pid_t reader = inProcess([&] { return readAll(device("uevent")).empty() ? 1 : 0; });
  ASSERT_EQ(sim_->command("await-waiting 2"), "ok\n");
  EXPECT_EQ(readAll(device("modalias")).substr(0, 4), "pci:");
  ASSERT_EQ(sim_->command("close 0000:01:00.0"), "ok\n");
  EXPECT_EQ(statusOf(writer), 0);
  EXPECT_EQ(statusOf(reader), 0);
}

TEST_F(Mounted, OrderedHangHoldsAnyWrite) {
  ASSERT_EQ(sim_->command("hang bus/pci/devices/0000:01:00.0/driver_override"), "ok\n");
  const pid_t writer = inProcess([&] { return writeOnce(device("driver_override"), "x"); });
  ASSERT_EQ(sim_->command("await-waiting 1"), "ok\n");
  EXPECT_EQ(readAll(device("driver_override")), "(null)\n");
  ASSERT_EQ(sim_->command("unhang"), "ok\n");
  EXPECT_EQ(statusOf(writer), 0);
  EXPECT_EQ(readAll(device("driver_override")), "x\n");
}

TEST_F(Mounted, RootWithoutCapabilitiesMayBindAndNotEnable) {
  const pid_t child = inProcess([&] {
    for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
    }
    // User 0 gets no capabilities back on exec; here they are dropped at once.
    if (::prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0) != 0) return 100;
    struct {
      std::uint32_t version;
      int pid;
    } header{0x20080522, 0};
    const std::array<std::uint32_t, 6> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0) return 101;
    if (writeOnce(device("enable"), "1") != EPERM) return 1;
    if (writeOnce(device("driver_override"), "vfio-pci") != 0) return 2;
    if (writeOnce(pci("drivers/e1000e/unbind"), kCard) != 0) return 3;
    return writeOnce(pci("drivers/vfio-pci/bind"), kCard) == 0 ? 0 : 4;
  });
  EXPECT_EQ(statusOf(child), 0);
}

TEST_F(Mounted, WriteOnlyAttributesRefuseReadersEvenIfRoot) {
  const int fd = ::open(pci("drivers_probe").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(errno, EACCES);
}

TEST_F(Mounted, LinksResolveBeneathTheRootOnly) {
  const int root = ::open(sim_->sysfs().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int below = ::open(pci("devices").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_XDEV;
  const auto found = openAt(root, "bus/pci/devices/0000:01:00.0/vendor", O_RDONLY, kBeneath);
  EXPECT_TRUE(found) << strerror(found.error().error);
  const auto above = openAt(below, "0000:01:00.0/vendor", O_RDONLY, kBeneath);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().error, EXDEV);
  for (const int fd : {below, root}) ::close(fd);
}

TEST_F(Mounted, DescriptorOfARemovedDeviceAnswersNodev) {
  const int fd = ::open(device("driver_override").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(writeOnce(device("remove"), "1"), 0);
  ASSERT_EQ(writeOnce(pci("rescan"), "1"), 0);
  EXPECT_EQ(::write(fd, "x", 1), -1) << "it belongs to the device that is gone";
  EXPECT_EQ(errno, ENODEV);
  ::close(fd);
}

TEST_F(Mounted, LostEventsLoseNothingElse) {
  ASSERT_EQ(sim_->command("uevents off"), "ok\n");
  listener_->take();
  giveCardToVfio();
  EXPECT_THAT(listener_->take(), IsEmpty());
  EXPECT_EQ(linkName(device("driver")), "vfio-pci");
}

TEST_F(Mounted, EventsComeThreeTimesAndNoneIsLost) {
  const auto heard = [this](std::size_t count) {
    std::vector<std::string> all;
    while (all.size() < count && listener_->await(std::chrono::seconds(10))) {
      for (const std::string& each : listener_->take()) all.push_back(each);
    }
    return all;
  };
  listener_->take();
  giveCardToVfio();
  const auto once = listener_->take();
  sim_.reset();
  start("thrice");
  listener_->take();
  giveCardToVfio();
  const auto thrice = heard(3 * once.size());
  std::vector<std::string> wanted;
  for (int copy = 0; copy < 3; ++copy) wanted.insert(wanted.end(), once.begin(), once.end());
  EXPECT_THAT(thrice, testing::UnorderedElementsAreArray(wanted));
}

TEST_F(Mounted, SecondNodeOnTheSameSocketIsRefused) {
  const auto second =
      SimProcess::start({variable("VFIOGATE_BIN") + "/sim-sysfs",
                         variable("VFIOGATE_SOURCE") + "/tests/topologies/one-gpu.yaml",
                         directory_ / "mnt", directory_ / "ctl"});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), testing::HasSubstr("is served by another simulated node"));
}

}  // namespace
}  // namespace vfiogate::sim
