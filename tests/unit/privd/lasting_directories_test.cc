// Which directories privd can no longer use, and how it notices.

#include "privd/sandbox/lasting_directories.h"

#include "privd/options/program_options.h"
#include "privd/sandbox/gate_places.h"
#include "privd/sandbox/lost_directory.h"
#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

class Lasting : public testing::Test {
protected:
  Lasting() {
    for (const char* name : {"device-plugins", "pod-resources", "plugins_registry",
                             "plugins/vfio.example.org/dra-device-metadata"}) {
      fs::create_directories(kubelet_ / name);
    }
    fs::create_directories(place_ / "cdi");
    fs::create_directories(place_ / "devices");
    fs::create_directories(place_ / "holds");
    options_.stateDir = place_.path();
    options_.recordDir = place_ / "devices";
    options_.kubeletDir = kubelet_;
    options_.cdiDir = place_ / "cdi";
    options_.draDriver = "vfio.example.org";
    options_.plugindRights = "watch,kubelet,cdi";
  }

  LastingDirectories found(Confined confined) const { return gateDirectories(options_, confined); }
  /// In the way of which nothing gets the old inode's number again.
  void makeAnew(const fs::path& path) {
    fs::rename(path, place_ / ("was-" + path.filename().string()));
    fs::create_directory(path);
  }
  static std::string pathOf(const std::optional<LastingDirectories::Lost>& lost) {
    return lost ? lost->path + " " + lost->why : "none";
  }

  TempDir place_;
  const fs::path kubelet_ = place_ / "kubelet";
  GateOptions options_;
};

TEST_F(Lasting, ADirectoryMadeAnewIsClosedToAConfinedPrivdAlone) {
  const auto confined = found(Confined::kYes);
  const auto free = found(Confined::kNo);
  EXPECT_EQ(pathOf(confined.lost()), "none");
  fs::rename(kubelet_ / "device-plugins", place_ / "old");
  EXPECT_EQ(pathOf(confined.lost()), "none") << "the kubelet makes it again";
  fs::create_directory(kubelet_ / "device-plugins");
  EXPECT_EQ(pathOf(confined.lost()), (kubelet_ / "device-plugins").string() + " was made anew");
  EXPECT_EQ(pathOf(free.lost()), "none");
}

TEST_F(Lasting, SocketsThatAreDialledAreReachedInANewDirectory) {
  const auto confined = found(Confined::kYes);
  makeAnew(kubelet_ / "pod-resources");
  EXPECT_EQ(pathOf(confined.lost()), "none");
}

TEST_F(Lasting, WhatPrivdMakesAtItsStartIsMissedAtOnce) {
  const auto free = found(Confined::kNo);
  fs::remove_all(kubelet_ / "plugins/vfio.example.org");
  EXPECT_EQ(pathOf(free.lost()), (kubelet_ / "plugins/vfio.example.org").string() + " was removed");
}

// I1: what is allocated is written where the next command looks, or privd ends.
TEST_F(Lasting, I1_AnotherRecordOfAllocationsIsMissedConfinedOrNot) {
  const auto free = found(Confined::kNo);
  makeAnew(place_ / "devices");
  EXPECT_EQ(pathOf(free.lost()), place_ / "devices" + " was made anew");
  fs::remove_all(place_ / "devices");
  EXPECT_EQ(pathOf(free.lost()), place_ / "devices" + " was removed");
}

TEST_F(Lasting, AnotherDirectoryOfExclusionsIsClosedToAConfinedGate) {
  const auto confined = found(Confined::kYes);
  const auto free = found(Confined::kNo);
  makeAnew(place_ / "holds");
  EXPECT_EQ(pathOf(confined.lost()), place_ / "holds" + " was made anew");
  EXPECT_EQ(pathOf(free.lost()), "none");
  fs::remove(place_ / "holds");
  EXPECT_EQ(pathOf(free.lost()), place_ / "holds" + " was removed");
}

TEST_F(Lasting, TheBinderMissesTheRecordAlone) {
  const auto binder = recordDirectories(place_ / "devices");
  makeAnew(kubelet_ / "device-plugins");
  makeAnew(place_ / "cdi");
  EXPECT_EQ(pathOf(binder.lost()), "none");
  makeAnew(place_ / "devices");
  EXPECT_EQ(pathOf(binder.lost()), place_ / "devices" + " was made anew");
}

TEST_F(Lasting, WhatWasNotThereIsNoLoss) {
  fs::remove_all(kubelet_);
  fs::remove_all(place_ / "cdi");
  const auto confined = found(Confined::kYes);
  EXPECT_EQ(pathOf(confined.lost()), "none");
  fs::create_directories(kubelet_ / "device-plugins");
  EXPECT_EQ(pathOf(confined.lost()), "none");
}

TEST_F(Lasting, AMountOfADirectoryThatWasRemovedIsKnown) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it mounts";
  const pid_t child = fork();
  if (child == 0) {
    // As in a container: its mount stays with what was removed.
    const fs::path host = place_ / "host";
    fs::create_directory(host);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(host.c_str(), (kubelet_ / "device-plugins").c_str(), nullptr, MS_BIND, nullptr) !=
            0) {
      _exit(77);
    }
    const auto free = found(Confined::kNo);
    if (free.lost()) _exit(1);
    fs::remove(host);
    fs::create_directory(host);
    const auto lost = free.lost();
    _exit(lost && lost->path == (kubelet_ / "device-plugins").string() ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "may not mount";
  EXPECT_EQ(status, 0);
}

TEST_F(Lasting, TheLossIsToldByALaterPoll) {
  auto io = kj::setupAsyncIo();
  const auto confined = found(Confined::kYes);
  auto told = whenLost(confined, io.provider->getTimer());
  EXPECT_FALSE(told.poll(io.waitScope));
  makeAnew(place_ / "cdi");
  EXPECT_EQ(told.wait(io.waitScope).path, place_ / "cdi");
}

}  // namespace
}  // namespace vfiogate::test
