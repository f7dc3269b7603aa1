// Opening the device nodes of a mounted simulation, which FUSE itself never hears of.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <kj/io.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/integration/sim/sim_case.h"

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;

constexpr const char* kAllocatable = "0000:01:00.0";

std::string placeFrom(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "." : value;
}

/// What came of opening a file.
struct Opened {
  kj::AutoCloseFd fd;
  int error = 0;
};

class Nodes : public SimCase {
protected:
  void start(const std::string& topology, const std::string& nodes) {
    SimProcess::Options options{
        placeFrom("VFIOGATE_BIN") + "/sim-sysfs",
        placeFrom("VFIOGATE_SOURCE") + "/tests/topologies/" + topology + ".yaml",
        directory_ / "mnt", directory_ / "ctl"};
    options.uevents = "off";
    options.nodes = nodes;
    auto started = SimProcess::start(options);
    ASSERT_TRUE(started.has_value()) << started.error();
    sim_ = std::move(started).value();
  }

  Opened open(const std::string& name, int flags) const {
    const int fd = ::open((sim_->dev() + "/" + name).c_str(), flags | O_CLOEXEC);
    if (fd < 0) return {nullptr, errno};
    return {kj::AutoCloseFd(fd), 0};
  }

  /// As privd opens.
  Opened openBeneath(const std::string& name, int flags) const {
    const Opened root = open("", O_PATH | O_DIRECTORY);
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    const long fd = ::syscall(SYS_openat2, root.fd.get(), name.c_str(), &how, sizeof how);
    if (fd < 0) return {nullptr, errno};
    return {kj::AutoCloseFd(static_cast<int>(fd)), 0};
  }

  std::string command(const std::string& line) const { return sim_->command(line); }

  std::unique_ptr<SimProcess> sim_;
};

TEST_F(Nodes, CannotBeOpenedUnlessAskedFor) {
  start("two-in-group", "closed");
  ASSERT_EQ(command(std::string("bind ") + kAllocatable + " vfio-pci"), "ok\n");
  EXPECT_EQ(open("vfio/3", O_RDWR).error, EACCES);
  EXPECT_EQ(open("vfio/3", O_PATH).error, 0);
}

TEST_F(Nodes, OfAGroupIsAnExclusiveLockBetweenProcessesAndVirtualMachines) {
  start("two-in-group", "open");
  ASSERT_EQ(command(std::string("bind ") + kAllocatable + " vfio-pci"), "ok\n");
  Opened first = openBeneath("vfio/3", O_RDWR);
  ASSERT_EQ(first.error, 0);
  EXPECT_EQ(openBeneath("vfio/3", O_RDWR).error, EBUSY);
  EXPECT_EQ(open("vfio/3", O_RDWR).error, EBUSY);
  EXPECT_THAT(command("open-group 3"), HasSubstr("another holder has the group"));
  EXPECT_THAT(command("open 0000:01:00.0"), HasSubstr("another holder has the group"));
  first.fd = nullptr;
  EXPECT_EQ(command("open-group 3"), "ok\n");
  EXPECT_EQ(openBeneath("vfio/3", O_RDWR).error, EBUSY);
  EXPECT_EQ(command("close-group 3"), "ok\n");
  EXPECT_EQ(openBeneath("vfio/3", O_RDWR).error, 0);
}

TEST_F(Nodes, CanBeLookedAtWhateverIsOpen) {
  start("two-in-group", "open");
  ASSERT_EQ(command(std::string("bind ") + kAllocatable + " vfio-pci"), "ok\n");
  ASSERT_EQ(command("open 0000:01:00.0"), "ok\n");
  struct stat status {};
  EXPECT_EQ(::stat((sim_->dev() + "/vfio/3").c_str(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  const Opened place = openBeneath("vfio/3", O_PATH);
  EXPECT_EQ(place.error, 0);
  EXPECT_EQ(::fstat(place.fd.get(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(Nodes, HeldOpenDoNotKeepTheirDeviceFromLeaving) {
  start("two-in-group", "open");
  ASSERT_EQ(command(std::string("bind ") + kAllocatable + " vfio-pci"), "ok\n");
  const Opened group = openBeneath("vfio/3", O_RDWR);
  ASSERT_EQ(group.error, 0);
  EXPECT_EQ(command(std::string("unbind ") + kAllocatable), "ok\n");
  EXPECT_EQ(open("vfio/3", O_PATH).error, ENOENT);
}

TEST_F(Nodes, OfADiskInUseRefuseWhoWantsThemAlone) {
  start("root-nvme-nic", "open");
  EXPECT_EQ(openBeneath("nvme0n1", O_RDONLY | O_EXCL).error, EBUSY) << "a file system";
  EXPECT_EQ(openBeneath("nvme1n1", O_RDONLY | O_EXCL).error, EBUSY) << "a volume group";
  EXPECT_EQ(openBeneath("nvme2n1", O_RDONLY | O_EXCL).error, ENXIO) << "idle";
  EXPECT_EQ(openBeneath("nvme0n1", O_RDONLY).error, ENXIO) << "there is no disk behind it";
}

}  // namespace
}  // namespace vfiogate::sim
