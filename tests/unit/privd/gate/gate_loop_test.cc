// The gate's loop: whom it serves, what it tells unasked, when it ends, and what it does with who
// does not keep to the form.

#include "tests/unit/privd/gate/served_gate.h"

#include "ipc/socket/unix_socket.h"
#include "privd/base/log_line.h"

#include <cerrno>

namespace vfiogate::test {
namespace {

using gate::Code;
using testing::HasSubstr;

class GateLoopTest : public ServedGate {
protected:
  ~GateLoopTest() noexcept override = default;

  std::string pathOf(const std::string& name) { return dir_ / ("device-plugins/" + name); }
  std::uint64_t checkpointInode() { return inodeOf(pathOf("kubelet_internal_checkpoint")); }
  bool hearsCheckpoint(PlayedPlugind& plugind) {
    return hears(plugind, [this](const gate::WatchedFiles& files) {
      return files.checkpoint && files.checkpoint->inode == checkpointInode();
    });
  }
  static bool nothing(const gate::WatchedFiles& files) { return files == gate::WatchedFiles(); }

  /// What the log says of a peer that sends this after it has entered; the gate hangs up.
  std::string saidOf(const std::string& packet, int fd = -1) {
    auto plugind = entered();
    takeTold(plugind);
    testing::internal::CaptureStderr();
    const auto answered = exchange(plugind, packet, fd);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(answered.hungUp);
    return log;
  }
};

TEST_F(GateLoopTest, TellsAtOnceWhatThereIs) {
  auto kubelet = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  auto plugind = entered();
  ASSERT_TRUE(hears(plugind, [this](const gate::WatchedFiles& files) {
    return files.registration && files.registration->inode == inodeOf(pathOf("kubelet.sock"));
  }));
  EXPECT_EQ(plugind.told.size(), 1U);
}

TEST_F(GateLoopTest, TellsOfEachThingThatComesAndGoes) {
  auto plugind = entered();
  EXPECT_TRUE(hears(plugind, nothing));
  auto kubelet = listenAt(pathOf("").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  EXPECT_TRUE(hears(plugind, [](const auto& files) { return files.registration.has_value(); }));
  writeCheckpoint("{}");
  EXPECT_TRUE(hearsCheckpoint(plugind));
  writeCheckpoint("{ }");
  EXPECT_TRUE(hearsCheckpoint(plugind));
  write("config/plugind.yaml", "one");
  EXPECT_TRUE(hears(plugind, [](const auto& files) { return files.configuration.has_value(); }));
  std::filesystem::create_directory(dir_ / "pod-resources");
  auto pods = listenAt((dir_ / "pod-resources").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  EXPECT_TRUE(hears(plugind, [](const auto& files) { return files.podResources.has_value(); }));
  std::filesystem::remove(pathOf("kubelet.sock"));
  EXPECT_TRUE(hears(plugind, [](const auto& files) { return !files.registration; }));
}

TEST_F(GateLoopTest, TellsOfAConfigMapThatSwapsItsLinks) {
  namespace fs = std::filesystem;
  for (const char* name : {"..1", "..2"}) {
    fs::create_directory(dir_ / (std::string("config/") + name));
    write(std::string("config/") + name + "/plugind.yaml", name);
  }
  fs::create_symlink("..1", dir_ / "config/..data");
  fs::create_symlink("..data/plugind.yaml", dir_ / "config/plugind.yaml");
  auto plugind = entered();
  ASSERT_TRUE(hears(plugind, [](const auto& files) { return files.configuration.has_value(); }));
  fs::create_symlink("..2", dir_ / "config/..data_tmp");
  fs::rename(dir_ / "config/..data_tmp", dir_ / "config/..data");
  EXPECT_TRUE(hears(plugind, [this](const gate::WatchedFiles& files) {
    return files.configuration->inode == inodeOf(dir_ / "config/..2/plugind.yaml");
  }));
}

TEST_F(GateLoopTest, OneTellingIsUnderWayAndTheNextTellsTheLatest) {
  auto plugind = entered();
  plugind.seesAtOnce = false;
  ASSERT_TRUE(hears(plugind, nothing));
  for (int i = 0; i < 50; ++i) {
    writeCheckpoint(std::string(static_cast<std::size_t>(i), ' '));
    EXPECT_FALSE(turn());
  }
  takeTold(plugind);
  EXPECT_EQ(plugind.told.size(), 1U);
  see(plugind);
  EXPECT_TRUE(hearsCheckpoint(plugind));
  EXPECT_EQ(plugind.told.size(), 2U);
}

TEST_F(GateLoopTest, OtherNamesAreNoNews) {
  auto plugind = entered();
  ASSERT_TRUE(hears(plugind, nothing));
  write("device-plugins/somebody-elses.sock", "");
  EXPECT_FALSE(turn());
  writeCheckpoint("{}");
  ASSERT_TRUE(hearsCheckpoint(plugind));
  EXPECT_EQ(plugind.told.size(), 2U);
}

TEST_F(GateLoopTest, DialsAgainWhenPlugindHasLeft) {
  for (int i = 0; i < 3; ++i) {
    auto plugind = entered();
    EXPECT_TRUE(ask(plugind, gate::Enter{}).is(Code::kDone));
  }
}

TEST_F(GateLoopTest, TheOneThatItServesIsEnough) {
  auto plugind = entered();
  const auto another = listenAs(playedUid(), dir_ / "plugind/plugind.sock");
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(loop_->turn(std::chrono::milliseconds(5)));
  EXPECT_TRUE(acceptFrom(another) == nullptr);
  EXPECT_TRUE(ask(plugind, gate::Enter{}).is(Code::kDone));
}

TEST_F(GateLoopTest, ASilentChannelCostsNothing) {
  auto silent = connect();
  writeCheckpoint("{}");
  EXPECT_FALSE(turn());
  const auto arrived = receivePacket(silent.socket, gate::kLargestAnswer);
  ASSERT_TRUE(arrived);
  EXPECT_TRUE(*arrived == nullptr) << "it is told nothing before it has entered";
}

TEST_F(GateLoopTest, EndsWithWhoStartedIt) {
  auto plugind = entered();
  starter_.ours = nullptr;
  const auto end = turn();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->lost);
}

TEST_F(GateLoopTest, EndsByASignalAndHangsUp) {
  auto plugind = entered();
  ASSERT_TRUE(
      ask(plugind, gate::Listen{gate::Listen::Kind::kDraRegistration, kDraDriver}).is(Code::kDone));
  ASSERT_TRUE(sendPacket(signals_.ours, "s") == PacketSent::kSent);
  EXPECT_FALSE(loop_->run().lost);
  EXPECT_EQ(filesIn("plugins_registry"), 0U);
  takeTold(plugind);
  EXPECT_FALSE(receivePacket(plugind.socket, gate::kLargestAnswer));
}

TEST_F(GateLoopTest, EndsWhereADirectoryIsOfNoUseAnyMore) {
  lasting_.add(dir_ / "cdi", LastingDirectories::IfReplaced::kClosed,
               LastingDirectories::IfMissing::kClosed);
  start();
  EXPECT_FALSE(turn());
  std::filesystem::rename(dir_ / "cdi", dir_ / "was");
  std::filesystem::create_directory(dir_ / "cdi");
  const auto end = loop_->run();
  ASSERT_TRUE(end.lost);
  EXPECT_EQ(end.lost->path, dir_ / "cdi");
}

TEST_F(GateLoopTest, I6_WhoDoesNotKeepToTheFormIsHungUpOnAndTheLogSaysWhy) {
  const std::string seen = encode(gate::Request(gate::Seen{}));
  EXPECT_THAT(saidOf(std::string(1, '\0')), HasSubstr("an unknown request"));
  EXPECT_THAT(saidOf(std::string(1, static_cast<char>(gate::kRequests + 1))),
              HasSubstr("an unknown request"));
  EXPECT_THAT(saidOf(encode(gate::Request(gate::Dial{})).substr(0, 1)),
              HasSubstr("ends within a field"));
  EXPECT_THAT(saidOf(encode(gate::Request(gate::Dial{})) + "x"), HasSubstr("more than its fields"));
  EXPECT_THAT(saidOf(seen), HasSubstr("not told"));
  EXPECT_THAT(saidOf(std::string(gate::kLargestRequest + 1, 'x')), HasSubstr("above its size"));
  const kj::AutoCloseFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(saidOf(encode(gate::Request(gate::Dial{})), file), HasSubstr("descriptor"));
}

TEST_F(GateLoopTest, I6_WhatIsRefusedWithACodeIsLoggedOnceOfEachKind) {
  const StaticSpecText foreign{.resource = "nvidia.com/gpu",
                               .nodeSets = {{{SpecNode::Kind::kGroup, 7}}},
                               .devices = {{*Bdf::parse("0000:01:00.0"), 0}}};
  const gate::Enter otherProtocol{.protocol = gate::kProtocol + 1};
  auto plugind = entered();
  takeTold(plugind);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ask(plugind, gate::Listen{.name = "no name"}).is(Code::kBadName));
    EXPECT_TRUE(ask(plugind, gate::Remove{.uid = "no-uid"}).is(Code::kBad));
    EXPECT_TRUE(ask(plugind, gate::Put{foreign}).is(Code::kForeign));
    EXPECT_TRUE(ask(plugind, otherProtocol).is(Code::kWrongProtocol));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("request_refused"));
  EXPECT_THAT(log, HasSubstr("request=listen"));
  EXPECT_THAT(log, HasSubstr("request=remove"));
  EXPECT_THAT(log, HasSubstr("request=put reason=\"no --resource-prefix covers it\""));
  EXPECT_THAT(log, HasSubstr("request=enter reason=\"another protocol\""));
  EXPECT_EQ(std::ranges::count(log, '\n'), 4) << log;
}

TEST_F(GateLoopTest, I6_AForeignSocketIsLoggedInOneFormAlone) {
  auto plugind = entered();
  takeTold(plugind);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(ask(plugind, gate::Listen{.name = "nvidia.com/gpu"}).is(Code::kForeign));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("socket_refused"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
}

TEST_F(GateLoopTest, I10_WhoAlwaysHasSomethingToAskHoldsNothingElseUp) {
  auto plugind = entered();
  ASSERT_TRUE(hears(plugind, nothing));
  turn();
  const std::string list = encode(gate::Request(gate::List{}));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sendPacket(plugind.socket, list), PacketSent::kSent);
  write("holds/0000:01:00.0", "since=0\nreason=test\n");
  std::size_t before = 0;  // answers, until it is told of the exclusion
  for (int turns = 0; turns < 4; ++turns) ASSERT_FALSE(turn());
  while (true) {
    auto received = receivePacket(plugind.socket, gate::kLargestAnswer).value();
    ASSERT_TRUE(received != nullptr) << "not told within four turns";
    const auto message = gate::decodeFromGate(KJ_ASSERT_NONNULL(received).bytes).value();
    if (std::holds_alternative<gate::Changed>(message)) break;
    ++before;
  }
  EXPECT_LE(before, 4U);
  ASSERT_EQ(sendPacket(signals_.ours, "s"), PacketSent::kSent);
  EXPECT_TRUE(turn()) << "requests wait still, and a signal is obeyed";
}

TEST_F(GateLoopTest, I10_DescriptorsThatAreSentUpAreClosed) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const kj::AutoCloseFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto before = descriptors();
  for (int i = 0; i < 10; ++i) {
    auto plugind = entered();
    EXPECT_TRUE(exchange(plugind, encode(gate::Request(gate::Dial{})), file).hungUp);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(GateLoopTest, I10_WhoTakesNoAnswersIsHungUpOn) {
  writeCheckpoint("{}");
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  auto plugind = entered();
  const auto before = descriptors();
  int sent = 0;
  while (sent < 10'000 &&
         sendPacket(plugind.socket, encode(gate::Request(gate::Open{}))) == PacketSent::kSent) {
    ASSERT_FALSE(turn());
    ++sent;
  }
  EXPECT_LT(sent, 1000) << "the kernel holds more of them than its buffer may";
  EXPECT_LE(descriptors(), before);
}

// A peer that is refused as often as it can, while nobody reads the log.
TEST_F(GateLoopTest, I10_RefusalsByTheThousandFillNoLogAndWaitForNoReader) {
  int log[2];
  ASSERT_EQ(pipe2(log, O_CLOEXEC), 0);
  const kj::AutoCloseFd reader(log[0]);
  const kj::AutoCloseFd ours(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(dup2(log[1], STDERR_FILENO), STDERR_FILENO);
  close(log[1]);
  ASSERT_EQ(fcntl(reader, F_SETPIPE_SZ, 4096), 4096);
  beginLog(LogForm::kLogfmt);
  {
    auto plugind = entered();
    for (int i = 0; i < 3000; ++i) {
      EXPECT_TRUE(ask(plugind, gate::Listen{.name = "nvidia.com/gpu"}).is(Code::kForeign));
    }
    for (int i = 0; i < 200; ++i) {
      auto stranger = connect();
      EXPECT_TRUE(ask(stranger, gate::Adopted{}).hungUp);
    }
  }
  ASSERT_EQ(dup2(ours, STDERR_FILENO), STDERR_FILENO);
  std::string said(1 << 16, '\0');
  const ssize_t size = read(reader, said.data(), said.size());
  ASSERT_GT(size, 0);
  said.resize(static_cast<std::size_t>(size));
  EXPECT_LE(said.size(), 4096U);
  EXPECT_THAT(said, HasSubstr("socket_refused"));
}

}  // namespace
}  // namespace vfiogate::test
