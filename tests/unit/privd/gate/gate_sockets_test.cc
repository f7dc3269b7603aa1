// The kubelet's sockets and files, as plugind asks the gate for them.

#include "tests/unit/privd/gate/served_gate.h"

#include "ipc/socket/unix_socket.h"
#include "tests/unit/privd/gate/another_listens.h"

#include <cerrno>
#include <deque>

namespace vfiogate::test {
namespace {

using gate::Code;
using gate::Listen;
using gate::Open;

class GateSocketsTest : public ServedGate {
protected:
  ~GateSocketsTest() noexcept override = default;

  Answered listen(const std::string& name, Listen::Kind kind = Listen::Kind::kResource) {
    return ask(plugind_, Listen{kind, name});
  }
  Answered open(Open::File file) { return ask(plugind_, Open{.file = file, .uid = ""}); }
  Answered dial(gate::Dial::Socket socket = gate::Dial::Socket::kRegistration) {
    return ask(plugind_, gate::Dial{socket});
  }
  static gate::OpenedFile fileIn(const Answered& answered) {
    return std::get<gate::OpenedFile>(answered.answer.outcome);
  }
  static std::string endpointIn(const Answered& answered) {
    return std::get<gate::Endpoint>(answered.answer.outcome).path;
  }
  std::string pathOf(const std::string& name) { return dir_ / ("device-plugins/" + name); }
  kj::AutoCloseFd kubelet() {
    auto made = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner).value();
    anotherListens(made);
    return made;
  }

  PlayedPlugind plugind_ = entered();
};

TEST_F(GateSocketsTest, AListenerIsHandedOverWithItsName) {
  const auto answered = listen("vfiogate.dev/gpu");
  ASSERT_TRUE(answered.is(Code::kDone));
  ASSERT_TRUE(dialAt(pathOf(endpointIn(answered)).c_str()));
  EXPECT_TRUE(acceptFrom(answered.descriptor()) != nullptr);
}

TEST_F(GateSocketsTest, I7_NamesOfOthersHaveNoSockets) {
  EXPECT_TRUE(listen("gpu").is(Code::kBadName));
  EXPECT_TRUE(listen("nvidia.com/gpu").is(Code::kForeign));
  EXPECT_TRUE(listen("vfiogate.dev/../../etc").is(Code::kBadName));
  EXPECT_EQ(filesIn("device-plugins"), 0U);
}

TEST_F(GateSocketsTest, I10_SixThousandFourHundredNamesLeaveSixtyFourSockets) {
  for (int i = 0; i < 6400; ++i) {
    ASSERT_TRUE(listen("vfiogate.dev/r" + std::to_string(i)).is(Code::kDone)) << i;
  }
  EXPECT_LE(filesIn("device-plugins"), 64U);
}

TEST_F(GateSocketsTest, I10_SixtyFourThatAreServedAreAllThereAre) {
  std::deque<Answered> served;
  for (int i = 0; i < 64; ++i) {
    served.push_back(listen("vfiogate.dev/r" + std::to_string(i)));
    ASSERT_TRUE(served.back().is(Code::kDone));
  }
  EXPECT_TRUE(listen("vfiogate.dev/r64").is(Code::kTooMany));
  EXPECT_TRUE(listen("vfiogate.dev/r63").is(Code::kDone)) << "in place of its first one";
}

TEST_F(GateSocketsTest, TheDriversSocketsAreHandedOverWithTheirPaths) {
  const auto service = listen(kDraDriver, Listen::Kind::kDraService);
  const std::string path = dir_ / ("plugins/" + kDraDriver + "/dra.sock");
  EXPECT_EQ(endpointIn(service), path);
  ASSERT_TRUE(dialAt(path.c_str()));
  EXPECT_TRUE(acceptFrom(service.descriptor()) != nullptr);
  const auto registration = listen(kDraDriver, Listen::Kind::kDraRegistration);
  struct stat status = {};
  ASSERT_EQ(stat(endpointIn(registration).c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(GateSocketsTest, I7_ForeignDriversHaveNoSockets) {
  for (const std::string& driver :
       {std::string("gpu.nvidia.com"), std::string(), kDraDriver + std::string("\0/x", 3),
        "../" + kDraDriver, kDraDriver + "x"}) {
    for (const auto kind : {Listen::Kind::kDraService, Listen::Kind::kDraRegistration}) {
      EXPECT_TRUE(listen(driver, kind).is(Code::kForeign)) << driver;
    }
  }
  EXPECT_EQ(filesIn("plugins_registry"), 0U);
}

TEST_F(GateSocketsTest, TheRegistrationGoesWithTheConnection) {
  const auto registration = listen(kDraDriver, Listen::Kind::kDraRegistration);
  const auto resource = listen("vfiogate.dev/gpu");
  EXPECT_EQ(filesIn("plugins_registry"), 1U);
  plugind_.socket = nullptr;
  EXPECT_FALSE(turn());
  EXPECT_EQ(filesIn("plugins_registry"), 0U);
  EXPECT_EQ(filesIn("device-plugins"), 1U) << "plugind may serve it still";
}

TEST_F(GateSocketsTest, WhyASocketIsNotMadeIsAnErrno) {
  std::filesystem::remove_all(dir_ / "device-plugins");
  const auto answered = listen("vfiogate.dev/gpu");
  EXPECT_TRUE(answered.is(Code::kFailed));
  EXPECT_EQ(answered.answer.detail, ENOENT);
}

TEST_F(GateSocketsTest, DialsTheKubeletOnceItIsThere) {
  const auto absent = dial();
  EXPECT_TRUE(absent.is(Code::kNotYet));
  EXPECT_EQ(absent.answer.detail, ENOENT);
  const auto there = kubelet();
  ASSERT_TRUE(dial().is(Code::kDone));
  EXPECT_TRUE(acceptFrom(there) != nullptr);
  EXPECT_TRUE(dial(gate::Dial::Socket::kPodResources).is(Code::kNotYet));
}

// Whoever is dialled talks to a process of root's that has no secret to tell it: itself.
TEST_F(GateSocketsTest, I6_NeitherALinkNorASocketOfItsOwnIsTheKubelet) {
  const auto other = listenAt(dir_.path().c_str(), "other.sock", WhoMayConnect::kOwner);
  std::filesystem::create_symlink(dir_ / "other.sock", pathOf("kubelet.sock"));
  EXPECT_TRUE(dial().is(Code::kFailed));
  EXPECT_TRUE(acceptFrom(*other) == nullptr) << "nobody was dialled";
  std::filesystem::remove(pathOf("kubelet.sock"));
  const auto own = listen("vfiogate.dev/gpu");
  std::filesystem::create_hard_link(pathOf(endpointIn(own)), pathOf("kubelet.sock"));
  const auto refused = dial();
  EXPECT_TRUE(refused.is(Code::kFailed));
  EXPECT_EQ(refused.answer.detail, ELOOP);
  EXPECT_FALSE(refused.hasFd());
}

TEST_F(GateSocketsTest, HandsTheCheckpointOverForReadingOnly) {
  writeCheckpoint("{}");
  const auto answered = open(Open::File::kCheckpoint);
  ASSERT_TRUE(answered.is(Code::kDone));
  EXPECT_EQ(fileIn(answered).size, 2U);
  EXPECT_FALSE(fileIn(answered).kubelet);
  struct stat status = {};
  ASSERT_EQ(stat(pathOf("kubelet_internal_checkpoint").c_str(), &status), 0);
  EXPECT_EQ(fileIn(answered).written, nanosecondsOf(status.st_mtim));
  EXPECT_EQ(fcntl(answered.descriptor(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(textOf(answered.descriptor()), "{}");
}

TEST_F(GateSocketsTest, SaysWhichKubeletTheCheckpointIsJudgedBy) {
  writeCheckpoint("{}");
  const auto there = kubelet();
  const auto answered = open(Open::File::kCheckpoint);
  ASSERT_TRUE(fileIn(answered).kubelet);
  EXPECT_EQ(fileIn(answered).kubelet->inode, inodeOf(pathOf("kubelet.sock")));
}

TEST_F(GateSocketsTest, TellsWhyThereIsNoCheckpoint) {
  EXPECT_TRUE(open(Open::File::kCheckpoint).is(Code::kNotYet));
  std::filesystem::create_symlink("/etc/shadow", pathOf("kubelet_internal_checkpoint"));
  const auto refused = open(Open::File::kCheckpoint);
  EXPECT_TRUE(refused.is(Code::kFailed));
  EXPECT_EQ(refused.answer.detail, ELOOP);
}

// As the kubelet does: a directory of data, `..data` that points to it, the file a link through it.
TEST_F(GateSocketsTest, HandsTheConfigurationOverThroughTheLinksOfAConfigMap) {
  EXPECT_TRUE(open(Open::File::kConfiguration).is(Code::kNotYet));
  std::filesystem::create_directory(dir_ / "config/..1");
  write("config/..1/plugind.yaml", "one");
  std::filesystem::create_symlink("..1", dir_ / "config/..data");
  std::filesystem::create_symlink("..data/plugind.yaml", dir_ / "config/plugind.yaml");
  const auto answered = open(Open::File::kConfiguration);
  ASSERT_TRUE(answered.is(Code::kDone));
  EXPECT_EQ(textOf(answered.descriptor()), "one");
  EXPECT_EQ(fileIn(answered).identity.inode, inodeOf(dir_ / "config/..1/plugind.yaml"));
}

TEST_F(GateSocketsTest, AConfigurationThatIsNoFileOrTooLargeIsAnError) {
  const std::string path = dir_ / "config/plugind.yaml";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(open(Open::File::kConfiguration).answer.detail, EINVAL) << "and nobody waits for it";
  std::filesystem::remove(path);
  write("config/plugind.yaml", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(open(Open::File::kConfiguration).answer.detail, EFBIG);
}

TEST_F(GateSocketsTest, I7_WithoutTheRightNothingIsThere) {
  writeCheckpoint("{}");
  start({.cdi = true});
  plugind_.lock = nullptr;
  auto plugind = entered();
  const std::vector<gate::Request> requests{Listen{.name = "vfiogate.dev/gpu"},
                                            Listen{Listen::Kind::kDraService, kDraDriver},
                                            gate::Dial{},
                                            Open{.file = Open::File::kCheckpoint, .uid = ""},
                                            Open{.file = Open::File::kConfiguration, .uid = ""},
                                            gate::Allocate{{*Bdf::parse("0000:01:00.0")}, "note"},
                                            gate::Release{{*Bdf::parse("0000:01:00.0")}}};
  for (const gate::Request& request : requests) {
    EXPECT_TRUE(ask(plugind, request).is(Code::kDenied)) << request.index();
  }
  EXPECT_EQ(plugind.told, std::vector<gate::WatchedFiles>{{}}) << "not even that they are there";
}

}  // namespace
}  // namespace vfiogate::test
