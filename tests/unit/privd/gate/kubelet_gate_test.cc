#include "privd/gate/kubelet_gate.h"

#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <set>

#include "sim/base/temp_dir.h"
#include "tests/unit/privd/gate/another_listens.h"

namespace vfiogate {
namespace {

constexpr auto kRegistration = gate::Dial::Socket::kRegistration;
constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

ResourceName named(const std::string& text) {
  return *ResourceName::parse(text);
}

class KubeletGateTest : public testing::Test {
protected:
  ~KubeletGateTest() noexcept override = default;

  std::string pathOf(const std::string& name) { return dir_ / ("device-plugins/" + name); }

  int errorOfCheckpoint() {
    const auto opened = gate_.openCheckpoint();
    return opened ? 0 : opened.error().error;
  }

  TempDir dir_;
  const bool made_ = std::filesystem::create_directory(dir_ / "device-plugins");
  const ServedNames names_{{"vfiogate.dev/"}, ""};
  KubeletGate gate_{dir_.path().c_str(), names_};
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
    EXPECT_TRUE(gate_.refuse(named(text)) == gate::Code::kForeign) << text;
  }
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/gpu")) == gate::Code::kDone);
}

TEST_F(KubeletGateTest, ServesSixtyFourResourcesAndNoMore) {
  std::vector<KubeletGate::Listener> listeners;
  for (int i = 0; i < 64; ++i) {
    auto made = gate_.listen(named("vfiogate.dev/r" + std::to_string(i)));
    ASSERT_TRUE(made) << i;
    listeners.push_back(kj::mv(made).value());
  }
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/r64")) == gate::Code::kTooMany);
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/r63")) == gate::Code::kDone);
  // The place of one that nobody serves any more is free, and its file is gone.
  const std::string left = pathOf(listeners[7].endpoint.cStr());
  listeners.erase(listeners.begin() + 7);
  EXPECT_TRUE(gate_.refuse(named("vfiogate.dev/r64")) == gate::Code::kDone);
  EXPECT_FALSE(std::filesystem::exists(left));
  ASSERT_TRUE(gate_.listen(named("vfiogate.dev/r64")));
}

TEST_F(KubeletGateTest, DialsTheKubeletOnceItIsThere) {
  const auto absent = gate_.dial(kRegistration);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().error, ENOENT);
  EXPECT_TRUE(meansNotYet(absent.error().error));

  auto kubelet = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  ASSERT_TRUE(kubelet);
  anotherListens(*kubelet);
  EXPECT_TRUE(gate_.dial(kRegistration));
  EXPECT_FALSE(gate_.dial(gate::Dial::Socket::kPodResources));
}

TEST_F(KubeletGateTest, I6_ALinkInTheKubeletsPlaceLeadsNowhere) {
  const auto other = listenAt(dir_.path().c_str(), "other.sock", WhoMayConnect::kOwner);
  ASSERT_TRUE(other);
  std::filesystem::create_symlink(dir_ / "other.sock", pathOf("kubelet.sock"));
  const auto refused = gate_.dial(kRegistration);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, ELOOP);
  EXPECT_FALSE(meansNotYet(refused.error().error));
  EXPECT_TRUE(acceptFrom(*other) == nullptr) << "nobody was dialled";
}

// The kubelet removes our sockets just before it makes its own, and a file system may give that the
// number of one of ours.
TEST_F(KubeletGateTest, TheKubeletsSocketIsNotOursWhateverItsInode) {
  const auto ours = gate_.listen(named("vfiogate.dev/a"));
  ASSERT_TRUE(ours);
  std::filesystem::rename(pathOf(ours->endpoint.cStr()), pathOf("kubelet.sock"));
  EXPECT_EQ(gate_.dial(kRegistration).error().error, ELOOP);
  anotherListens(ours->fd);
  EXPECT_TRUE(gate_.dial(kRegistration)) << "the same inode";
}

TEST_F(KubeletGateTest, ASocketLeftByADeadKubeletMeansNotYet) {
  { auto dead = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner); }
  const auto refused = gate_.dial(kRegistration);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, ECONNREFUSED);
  EXPECT_TRUE(meansNotYet(refused.error().error));
}

TEST_F(KubeletGateTest, DialsPodResources) {
  std::filesystem::create_directory(dir_ / "pod-resources");
  auto kubelet = listenAt((dir_ / "pod-resources").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  ASSERT_TRUE(kubelet);
  anotherListens(*kubelet);
  EXPECT_TRUE(gate_.dial(gate::Dial::Socket::kPodResources));
  EXPECT_FALSE(gate_.dial(kRegistration));
}

TEST_F(KubeletGateTest, OpensTheCheckpointForReading) {
  EXPECT_EQ(errorOfCheckpoint(), ENOENT);
  std::ofstream(pathOf(kCheckpoint)) << "{}";
  const auto opened = gate_.openCheckpoint();
  ASSERT_TRUE(opened);
  char text[3] = {};
  EXPECT_EQ(read(opened->fd.get(), text, sizeof(text)), 2);
  EXPECT_LT(write(opened->fd.get(), "x", 1), 0);
  struct stat status = {};
  ASSERT_EQ(stat(pathOf(kCheckpoint).c_str(), &status), 0);
  EXPECT_EQ(nanosecondsOf(opened->status.st_mtim), nanosecondsOf(status.st_mtim));
}

TEST_F(KubeletGateTest, I10_OpensACheckpointOfAtMostAMiB) {
  std::ofstream(pathOf(kCheckpoint)) << "{}";
  std::filesystem::resize_file(pathOf(kCheckpoint), 1 << 20);
  EXPECT_EQ(errorOfCheckpoint(), 0);
  std::filesystem::resize_file(pathOf(kCheckpoint), (1 << 20) + 1);
  EXPECT_EQ(errorOfCheckpoint(), EFBIG);
}

TEST_F(KubeletGateTest, TakesNothingButAFileForTheCheckpoint) {
  std::ofstream(dir_ / "secret") << "secret";
  std::filesystem::create_symlink(dir_ / "secret", pathOf(kCheckpoint));
  EXPECT_EQ(errorOfCheckpoint(), ELOOP);
  std::filesystem::remove(pathOf(kCheckpoint));
  ASSERT_EQ(mkfifo(pathOf(kCheckpoint).c_str(), 0600), 0);
  EXPECT_EQ(errorOfCheckpoint(), EINVAL);
  std::filesystem::remove(pathOf(kCheckpoint));
  std::filesystem::create_directory(pathOf(kCheckpoint));
  EXPECT_EQ(errorOfCheckpoint(), EINVAL);
}

TEST_F(KubeletGateTest, I10_ACheckpointAboveOneMebibyteIsRefused) {
  std::ofstream(pathOf(kCheckpoint)) << "x";
  std::filesystem::resize_file(pathOf(kCheckpoint), 1 << 20);
  EXPECT_EQ(errorOfCheckpoint(), 0);
  std::filesystem::resize_file(pathOf(kCheckpoint), (1 << 20) + 1);
  EXPECT_EQ(errorOfCheckpoint(), EFBIG);
}

TEST_F(KubeletGateTest, TellsOneKubeletFromTheNext) {
  EXPECT_EQ(gate_.readFiles(), gate::WatchedFiles());
  auto first = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  const gate::WatchedFiles before = gate_.readFiles();
  ASSERT_TRUE(before.registration);
  EXPECT_FALSE(before.checkpoint);
  EXPECT_EQ(gate_.readFiles(), before);
  auto second = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  EXPECT_NE(gate_.readFiles().registration, before.registration);
}

// It has no secret to tell itself, and who may dial may do what it may.
TEST_F(KubeletGateTest, I6_ASocketOfItsOwnIsNotTheKubelet) {
  auto made = gate_.listen(named("vfiogate.dev/a"));
  ASSERT_TRUE(made);
  std::filesystem::rename(pathOf(made->endpoint.cStr()), pathOf("kubelet.sock"));
  EXPECT_EQ(gate_.dial(kRegistration).error().error, ELOOP);
}

class KubeletGateDraTest : public KubeletGateTest {
protected:
  ~KubeletGateDraTest() noexcept override = default;
  KubeletGateDraTest() {
    std::filesystem::create_directories(dir_ / "plugins/vfio.vfiogate.dev");
    std::filesystem::create_directory(dir_ / "plugins_registry");
  }
  std::string registration() { return dir_ / "plugins_registry/vfio.vfiogate.dev-reg.sock"; }

  const ServedNames draNames_{{"vfiogate.dev/"}, "vfio.vfiogate.dev"};
  KubeletGate dra_{dir_.path().c_str(), draNames_};
};

TEST_F(KubeletGateDraTest, TheNextSocketTakesTheNameOver) {
  for (const auto socket :
       {gate::Listen::Kind::kDraService, gate::Listen::Kind::kDraRegistration}) {
    auto first = dra_.listenDra(socket);
    auto second = dra_.listenDra(socket);
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(first->endpoint, second->endpoint);
    ASSERT_TRUE(dialAt(second->endpoint));
    EXPECT_TRUE(acceptFrom(second->fd) != nullptr);
    EXPECT_TRUE(acceptFrom(first->fd) == nullptr);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_ / "plugins_registry"), {}), 1);
}

TEST_F(KubeletGateDraTest, TheRegistrySeesNoNameButTheSockets) {
  const kj::AutoCloseFd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch, (dir_ / "plugins_registry").c_str(), IN_CREATE | IN_MOVE), 0);
  ASSERT_TRUE(dra_.listenDra(gate::Listen::Kind::kDraRegistration));
  ASSERT_TRUE(dra_.listenDra(gate::Listen::Kind::kDraRegistration));
  alignas(inotify_event) std::array<char, 4096> events;
  const ssize_t size = read(watch, events.data(), events.size());
  std::set<std::string> seen;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(&events.at(static_cast<size_t>(at)));
    seen.emplace(event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  // The kubelet logs an error for each that is gone when it looks, a temporary one, too.
  EXPECT_EQ(seen, std::set<std::string>{"vfio.vfiogate.dev-reg.sock"});
}

TEST_F(KubeletGateDraTest, WithdrawsItsOwnNameOnly) {
  std::ofstream(dir_ / "plugins_registry/other-reg.sock") << "";
  EXPECT_FALSE(*dra_.withdrawDra());
  ASSERT_TRUE(dra_.listenDra(gate::Listen::Kind::kDraRegistration));
  EXPECT_FALSE(*gate_.withdrawDra()) << "it has no driver";
  EXPECT_TRUE(std::filesystem::exists(registration()));
  EXPECT_TRUE(*dra_.withdrawDra());
  EXPECT_FALSE(std::filesystem::exists(registration()));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "plugins_registry/other-reg.sock"));
  std::filesystem::create_directory(registration());
  EXPECT_EQ(dra_.withdrawDra().error().error, EISDIR);
  std::filesystem::remove_all(dir_ / "plugins_registry");
  EXPECT_FALSE(*dra_.withdrawDra());
  EXPECT_EQ(dra_.listenDra(gate::Listen::Kind::kDraRegistration).error().error, ENOENT);
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

}  // namespace
}  // namespace vfiogate
