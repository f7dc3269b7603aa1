// privd's Landlock table, in force in a child: what it still opens, and what it no longer can.

#include "privd/sandbox/landlock_places.h"

#include "ipc/socket/unix_socket.h"
#include "privd/base/open_file.h"
#include "privd/options/serve_options.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr int kNoLandlock = 254;

class Places : public testing::Test {
protected:
  Places() {
    hardware_.add({.address = "0000:01:00.0"});
    for (const char* name :
         {"state/bindings", "state/holds", "state/declared", "state/other", "log", "cdi", "etc",
          "kubelet/device-plugins", "kubelet/plugins_registry", "kubelet/pods",
          "kubelet/plugins/vfio.example.org/dra-device-metadata"}) {
      fs::create_directories(directory_ / name);
    }
    for (const char* name : {"state/plugind.lock", "state/lock", "log/audit.jsonl", "etc/plugind",
                             "kubelet/device-plugins/checkpoint", "kubelet/pods/secret"}) {
      std::ofstream(directory_ / name) << "text\n";
    }
    fs::create_directories(hardware_.sysfs() + "/devices/system");
    std::ofstream(hardware_.sysfs() + "/devices/system/online") << "0-3\n";
    std::ofstream(hardware_.sysfs() + "/bus/pci/rescan") << "";
    std::ofstream(hardware_.sysfs() + "/bus/pci/drivers_probe") << "";
    options_.sysfs = hardware_.sysfs();
    options_.dev = hardware_.dev();
    options_.kubeletDir = directory_ / "kubelet";
    options_.cdiDir = directory_ / "cdi";
    options_.stateDir = directory_ / "state";
    options_.plugindConfig = directory_ / "etc/plugind";
    options_.binding.auditLog = directory_ / "log/audit.jsonl";
    options_.plugindRights = "watch,kubelet,cdi,bind";
    options_.draDriver = "vfio.example.org";
  }

  void SetUp() override {
    if (landlockAbi() <= 0) GTEST_SKIP() << "this kernel has no Landlock";
  }

  /// What `act` returns in a child under the table: 0 or an errno.
  int confined(const std::function<int()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      const auto sysfs = SysfsRoot::open(options_.sysfs);
      const auto held = confineTo(options_, *sysfs);
      _exit(held && held->abi > 0 ? act() : kNoLandlock);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int opens(const std::string& path, int flags) {
    return confined([&]() { return open(path.c_str(), flags, 0600) >= 0 ? 0 : errno; });
  }
  int replaces(const std::string& name) {
    return confined([&]() {
      const int directory = open((directory_ / name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      const auto done = replaceFile(directory, ".new", "file", "text", 0600);
      return done ? 0 : done.error().error;
    });
  }
  int listens(const std::string& name) {
    return confined([&]() {
      for (int turn = 0; turn < 2; ++turn) {  // the second one replaces the first
        const auto made = listenAt((directory_ / name).c_str(), "x.sock", WhoMayConnect::kOwner);
        if (!made) return made.error().error;
      }
      return 0;
    });
  }
  AllowedPlaces allowed() { return allowedPlaces(options_, *SysfsRoot::open(options_.sysfs)); }

  TempDir directory_;
  FakeSysfs hardware_;
  ServeOptions options_;
};

TEST_F(Places, OfTheHostAreClosed) {
  EXPECT_EQ(opens("/etc/shadow", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/etc/passwd", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/", O_RDONLY | O_DIRECTORY), EACCES);
  EXPECT_EQ(opens("/vfiogate-was-here", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(opens("/proc/self/environ", O_RDONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "new", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(confined([]() {
              const char* const words[] = {"true", nullptr};
              execv("/bin/true", const_cast<char* const*>(words));
              return errno;
            }),
            EACCES);
  EXPECT_EQ(opens("/proc/swaps", O_RDONLY), 0);
}

TEST_F(Places, OfSysfsAreReadAndOnlyWhatBindsIsWritten) {
  const std::string pci = hardware_.sysfs() + "/bus/pci/";
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_RDONLY), 0);
  EXPECT_EQ(opens(pci + "devices", O_RDONLY | O_DIRECTORY), 0);
  EXPECT_EQ(opens(pci + "devices/0000:01:00.0/vendor", O_WRONLY), 0) << "of the root complex";
  EXPECT_EQ(opens(pci + "drivers_probe", O_WRONLY), 0);
  EXPECT_EQ(opens(pci + "rescan", O_WRONLY), EACCES);
  EXPECT_EQ(opens(hardware_.sysfs() + "/devices/system/online", O_WRONLY), EACCES);
  EXPECT_EQ(opens(hardware_.sysfs() + "/devices/system/online", O_RDONLY), 0);
}

TEST_F(Places, OfTheKubeletHaveSocketsAndTheCheckpointOnly) {
  EXPECT_EQ(listens("kubelet/device-plugins"), 0);
  EXPECT_EQ(listens("kubelet/plugins_registry"), 0);
  EXPECT_EQ(listens("kubelet/plugins/vfio.example.org"), 0);
  EXPECT_EQ(listens("kubelet/pods"), EACCES);
  EXPECT_EQ(listens("kubelet"), EACCES);
  EXPECT_EQ(opens(directory_ / "kubelet/device-plugins/checkpoint", O_RDONLY), 0);
  EXPECT_EQ(opens(directory_ / "kubelet/device-plugins/checkpoint", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "kubelet/pods/secret", O_RDONLY), EACCES);
  EXPECT_EQ(replaces("kubelet/device-plugins"), EACCES);
}

TEST_F(Places, OfFilesThatPrivdKeepsAreWrittenAndNoOthersBesideThem) {
  for (const char* name : {"state/bindings", "state/holds", "state/declared", "log", "cdi",
                           "kubelet/plugins/vfio.example.org/dra-device-metadata"}) {
    EXPECT_EQ(replaces(name), 0) << name;
  }
  EXPECT_EQ(replaces("state"), EACCES);
  EXPECT_EQ(replaces("state/other"), EACCES);
  EXPECT_EQ(opens(directory_ / "state/plugind.lock", O_WRONLY | O_TRUNC), 0);
  EXPECT_EQ(opens(directory_ / "state/lock", O_WRONLY), EACCES);
  EXPECT_EQ(opens(directory_ / "log/audit.jsonl", O_RDWR | O_APPEND), 0);
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_RDONLY), 0);
  EXPECT_EQ(opens(directory_ / "etc/plugind", O_WRONLY), EACCES);
  EXPECT_EQ(
      confined([&]() { return mkdir((directory_ / "cdi/x").c_str(), 0700) == 0 ? 0 : errno; }),
      EACCES);
}

TEST_F(Places, AreFewerWithoutTheRightToSpecsAndWithoutADriver) {
  options_.plugindRights = "watch,kubelet";
  options_.draDriver.clear();
  EXPECT_EQ(replaces("cdi"), EACCES);
  EXPECT_EQ(listens("kubelet/plugins_registry"), EACCES);
  EXPECT_EQ(listens("kubelet/device-plugins"), 0);
}

TEST_F(Places, ThatAreMissingAreOpenedFromTheDirectoryAboveUnlessThatIsRefused) {
  fs::remove_all(directory_ / "kubelet");
  EXPECT_THAT(allowed().above, testing::Contains(directory_ / "kubelet/device-plugins"));
  EXPECT_EQ(listens("."), 0);
  EXPECT_EQ(listens("log"), 0) << "as much wider as it says on the log";
  options_.requireLandlock = true;
  EXPECT_EQ(opens("/proc/swaps", O_RDONLY), kNoLandlock);
}

TEST_F(Places, EachHaveARightAndAReason) {
  for (const PlaceRow& row : kPrivdPlaces) {
    EXPECT_NE(row.rights, 0U) << row.place;
    EXPECT_FALSE(row.reason.empty()) << row.place;
  }
}

}  // namespace
}  // namespace vfiogate::test
