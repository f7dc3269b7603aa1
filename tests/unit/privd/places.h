#pragma once
// A process's Landlock table, in force in a child: what it still opens, and what it no longer can.

#include "ipc/socket/unix_socket.h"
#include "privd/base/open_file.h"
#include "privd/options/program_options.h"
#include "privd/sandbox/place_table.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace vfiogate::test {

namespace fs = std::filesystem;

constexpr int kNoLandlock = 254;

class Places : public testing::Test {
protected:
  Places() {
    hardware_.add({.address = "0000:01:00.0"});
    for (const char* name :
         {"state/bindings", "state/holds", "state/declared", "state/other", "log", "cdi", "etc",
          "kubelet/device-plugins", "kubelet/plugins_registry", "kubelet/pods",
          "kubelet/plugins/vfio.example.org/dra-device-metadata", "devices"}) {
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
    options_.recordDir = directory_ / "devices";
    options_.binding.auditLog = directory_ / "log/audit.jsonl";
    options_.plugindRights = "watch,kubelet,cdi,bind";
    options_.draDriver = "vfio.example.org";
  }

  void SetUp() override {
    if (landlockAbi() <= 0) GTEST_SKIP() << "this kernel has no Landlock";
  }

  /// As the process does whose table it is.
  virtual Result<PlacesHeld, StepFailure> confine() = 0;

  /// What `act` returns in a child under the table: 0 or an errno.
  int confined(const std::function<int()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      const auto held = confine();
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

  TempDir directory_;
  FakeSysfs hardware_;
  ServeOptions options_;
};

}  // namespace vfiogate::test
