#include "privd/kubelet_gate.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace vfiogate {
namespace {

ResourceName named(const std::string& text) {
  return *ResourceName::parse(text);
}

class KubeletGateTest : public testing::Test {
protected:
  ~KubeletGateTest() noexcept override = default;

  std::string pathOf(const std::string& name) { return dir_ / ("device-plugins/" + name); }

  static kj::Vector<kj::String> prefixes() {
    kj::Vector<kj::String> result;
    result.add(kj::str("vfiogate.dev/"));
    return result;
  }

  TempDir dir_;
  const bool made_ = std::filesystem::create_directory(dir_ / "device-plugins");
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  KubeletGate gate_{io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), prefixes()};
};

TEST_F(KubeletGateTest, NamesSocketsAfterTheHashOfTheResource) {
  // printf %s vfiogate.dev/10de_2684 | sha256sum
  EXPECT_STREQ(socketNameOf(named("vfiogate.dev/10de_2684")).cStr(),
               "vfiogate-f7ffbb832d632a20.sock");
}

TEST_F(KubeletGateTest, MakesASocketThatOnlyItsOwnerMayDial) {
  auto made = gate_.listen(named("vfiogate.dev/a"));
  ASSERT_TRUE(made);
  struct stat status = {};
  ASSERT_EQ(stat(pathOf(made->endpoint.cStr()).c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_TRUE(dialAt(pathOf(made->endpoint.cStr()).c_str()));
  EXPECT_TRUE(acceptFrom(made->fd) != nullptr);
}

TEST_F(KubeletGateTest, TheNextSocketOfAResourceTakesTheNameOver) {
  auto first = gate_.listen(named("vfiogate.dev/a"));
  auto second = gate_.listen(named("vfiogate.dev/a"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(dialAt(pathOf(second->endpoint.cStr()).c_str()));
  EXPECT_TRUE(acceptFrom(second->fd) != nullptr);
  EXPECT_TRUE(acceptFrom(first->fd) == nullptr);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(pathOf("")), {}), 1);
}

TEST_F(KubeletGateTest, WhatADeadProcessLeftStandsInNobodysWay) {
  auto endpoint = socketNameOf(named("vfiogate.dev/a"));
  ASSERT_TRUE(listenAt(pathOf("").c_str(), kj::str(".", endpoint, ".0"), WhoMayConnect::kOwner));
  ASSERT_TRUE(gate_.listen(named("vfiogate.dev/a")));
}

TEST_F(KubeletGateTest, RefusesForeignPrefixes) {
  for (const char* text : {"nvidia.com/gpu", "vfiogate.dev.example.org/gpu", "vfiogate.de/v"}) {
    EXPECT_TRUE(gate_.refuse(named(text)) == KubeletGate::Refusal::kForeignPrefix) << text;
  }
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/gpu")) == nullptr);
}

TEST_F(KubeletGateTest, ServesSixtyFourResourcesAndNoMore) {
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(gate_.listen(named("vfiogate.dev/r" + std::to_string(i)))) << i;
  }
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/r64")) == KubeletGate::Refusal::kTooMany);
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/r63")) == nullptr);
}

TEST_F(KubeletGateTest, DialsTheKubeletOnceItIsThere) {
  const auto absent = gate_.dial(KubeletGate::Socket::kRegistration);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().error, ENOENT);
  EXPECT_TRUE(meansNotYet(absent.error().error));

  auto kubelet = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  ASSERT_TRUE(kubelet);
  EXPECT_TRUE(gate_.dial(KubeletGate::Socket::kRegistration));
}

TEST_F(KubeletGateTest, ASocketLeftByADeadKubeletMeansNotYet) {
  { auto dead = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner); }
  const auto refused = gate_.dial(KubeletGate::Socket::kRegistration);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, ECONNREFUSED);
  EXPECT_TRUE(meansNotYet(refused.error().error));
}

TEST_F(KubeletGateTest, SaysWhichStepFailed) {
  std::filesystem::remove_all(pathOf(""));
  const auto made = gate_.listen(named("vfiogate.dev/a"));
  ASSERT_FALSE(made);
  EXPECT_STREQ(made.error().step, "bind");
  EXPECT_EQ(made.error().error, ENOENT);
}

TEST(UnixSocket, PathsTooLongForASocketAreSaidToBe) {
  const std::string longName(200, 'x');
  const auto made = listenAt("/tmp", longName.c_str(), WhoMayConnect::kOwner);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error, ENAMETOOLONG);
  EXPECT_EQ(dialAt(("/tmp/" + longName).c_str()).error().error, ENAMETOOLONG);
}

TEST_F(KubeletGateTest, OpensTheCheckpointWithTheTimeOfItsWriting) {
  EXPECT_EQ(gate_.checkpoint().error(), ENOENT);
  std::ofstream(pathOf("kubelet_internal_checkpoint")) << "{}";
  const timespec times[2] = {{0, 0}, {7, 8}};
  ASSERT_EQ(utimensat(AT_FDCWD, pathOf("kubelet_internal_checkpoint").c_str(), times, 0), 0);
  auto opened = gate_.checkpoint();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->modified, 7'000'000'008);
  char text[8] = {};
  EXPECT_EQ(read(opened->fd, text, sizeof text), 2);
  EXPECT_EQ(write(opened->fd, "x", 1), -1) << "it is for reading only";
}

TEST_F(KubeletGateTest, ALinkAPipeOrAHugeFileIsNoCheckpoint) {
  const std::string path = pathOf("kubelet_internal_checkpoint");
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_EQ(gate_.checkpoint().error(), ELOOP);
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(gate_.checkpoint().error(), EFBIG);
  std::filesystem::remove(path);
  std::ofstream(path) << std::string((1U << 20U) + 1, 'x');
  EXPECT_EQ(gate_.checkpoint().error(), EFBIG);
}

TEST_F(KubeletGateTest, AnotherSocketIsAnotherKubelet) {
  EXPECT_TRUE(gate_.kubelet() == nullptr);
  auto first = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  const auto before = KJ_ASSERT_NONNULL(gate_.kubelet());
  auto second = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  const auto after = KJ_ASSERT_NONNULL(gate_.kubelet());
  EXPECT_TRUE(before.inode != after.inode || before.changed != after.changed);
}

}  // namespace
}  // namespace vfiogate
