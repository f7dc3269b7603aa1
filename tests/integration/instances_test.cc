// Who has the node when there are two: the real programs, one state directory.

#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

namespace vfiogate::test {
namespace {

using Process = std::unique_ptr<ChildProcess>;

constexpr uid_t kPlugindUid = 64532;
/// All its roles serve.
constexpr const char* kPrivdStarted = "event=started role=daemon";

class Instances : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    chmod(dir_.path().c_str(), 0755);
    for (const char* name : {"one", "other", "kubelet", "kubelet/device-plugins"}) {
      std::filesystem::create_directory(dir_.path() / name);
    }
    for (const char* name : {"one", "other"}) {
      ASSERT_EQ(chown((dir_ / name).c_str(), kPlugindUid, kPlugindUid), 0);
    }
    std::ofstream(dir_ / "config.yaml") << "resources: [{select: {vendor: \"10de\"}}]\n";
    hardware_.add({.address = "0000:01:00.0"});
  }

  /// privd that dials the plugind of this name; `text` is what it says when it is as far as it
  /// should be.
  Process privd(const std::string& pair, const std::string& text = kPrivdStarted) {
    return started(
        {builtProgram("privd"), "serve", "--plugind", dir_ / (pair + "/plugind.sock"), "--sysfs",
         hardware_.sysfs(), "--dev", hardware_.dev(), "--kubelet-dir", dir_ / "kubelet",
         "--state-dir", dir_ / "state", "--audit-log", dir_ / "audit.jsonl", "--uevents", "off"},
        text);
  }
  Process plugind(const std::string& pair, const std::string& text = "event=started") {
    return started(plugindCommand(pair), text);
  }
  std::vector<std::string> plugindCommand(const std::string& pair) const {
    return {builtProgram("plugind"), "--listen", dir_ / (pair + "/plugind.sock"), "--config",
            dir_ / "config.yaml"};
  }

  static Process started(const std::vector<std::string>& command, const std::string& text) {
    auto process = begun(command);
    EXPECT_TRUE(process->says(text)) << process->output();
    return process;
  }
  static Process begun(const std::vector<std::string>& command) {
    return std::make_unique<ChildProcess>(command, filteredEnvironment());
  }

  TempDir dir_;
  FakeSysfs hardware_;
};

TEST_F(Instances, ASecondPrivdWaitsForTheFirstAndGoesOn) {
  auto first = privd("one");
  const pid_t gate = childRunning(first->pid(), "privd-gate");
  auto second = privd("other", "event=instance_waits holder=\"pid=" + std::to_string(gate));
  EXPECT_EQ(second->count(kPrivdStarted), 0U);
  first->signal(SIGKILL);
  EXPECT_TRUE(second->says(kPrivdStarted)) << second->output();
  EXPECT_EQ(second->count("event=instance_waits"), 1U);
}

TEST_F(Instances, APrivdThatWaitsEndsWhenItIsTold) {
  auto first = privd("one");
  auto second = privd("other", "event=instance_waits");
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(), 0) << second->output();
}

TEST_F(Instances, ASecondPairWaitsUntilBothOfTheFirstAreGone) {
  auto firstPlugind = plugind("one");
  auto firstPrivd = privd("one");
  ASSERT_TRUE(firstPlugind->says("event=privd_came")) << firstPlugind->output();
  auto secondPlugind = plugind("other");
  auto secondPrivd = privd("other", "event=instance_waits");
  firstPrivd->signal(SIGKILL);
  ASSERT_TRUE(secondPrivd->says("event=plugind_waits")) << secondPrivd->output();
  EXPECT_TRUE(secondPlugind->says("event=lease_awaited")) << secondPlugind->output();
  EXPECT_EQ(secondPlugind->count("event=privd_came"), 0U);
  firstPlugind->signal(SIGKILL);
  EXPECT_TRUE(secondPlugind->says("event=privd_came")) << secondPlugind->output();
  EXPECT_EQ(secondPlugind->count("event=lease_awaited"), 1U);
  EXPECT_EQ(secondPrivd->count("event=plugind_waits"), 1U);
}

TEST_F(Instances, ASecondPlugindLeavesTheSocketToTheFirstAndNamesIt) {
  auto first = plugind("one");
  auto helper = privd("one");
  ASSERT_TRUE(first->says("event=privd_came")) << first->output();
  auto second = plugind("one", "pid=" + std::to_string(first->pid()) + " listens there");
  EXPECT_EQ(second->wait(), 1) << second->output();
  EXPECT_EQ(second->count("event=start_failed"), 1U) << second->output();
  helper->signal(SIGKILL);
  ASSERT_TRUE(first->says("event=privd_went")) << first->output();
  helper = privd("one", "event=plugind_connected");
}

TEST_F(Instances, OfManyPlugindThatStartTogetherOneListens) {
  std::vector<Process> all;
  for (int i = 0; i < 4; ++i) all.push_back(begun(plugindCommand("one")));
  std::size_t listening = 0;
  for (const Process& each : all) {
    EXPECT_TRUE(each->saysAll({"event=start"})) << each->output();  // started, or start_failed
    listening += each->count("event=started");
  }
  EXPECT_EQ(listening, 1U);
}

TEST_F(Instances, APlugindThatWasKilledIsFollowedByTheNext) {
  auto first = plugind("one");
  auto helper = privd("one");
  ASSERT_TRUE(first->says("event=privd_came")) << first->output();
  first->signal(SIGKILL);
  first->wait();
  auto next = plugind("one");
  EXPECT_TRUE(next->says("event=privd_came")) << next->output() << helper->output();
  EXPECT_EQ(next->count("event=lease_awaited"), 0U);
}

TEST_F(Instances, APrivdThatComesBackKnowsItsPlugindByTheTicket) {
  auto own = plugind("one");
  auto helper = privd("one");
  ASSERT_TRUE(own->says("event=privd_came")) << own->output();
  helper->signal(SIGKILL);
  ASSERT_TRUE(own->says("event=privd_went")) << own->output();
  helper = privd("one", "event=plugind_connected");
  const auto twice = [&] { return own->count("event=privd_came") == 2; };
  for (int i = 0; i < 1000 && !twice(); ++i) usleep(10'000);
  EXPECT_TRUE(twice()) << own->output() << helper->output();
  EXPECT_EQ(helper->count("event=plugind_waits"), 0U);
}

TEST_F(Instances, APrivdThatComesBackLetsAStrangerWait) {
  auto own = plugind("one");
  auto helper = privd("one");
  ASSERT_TRUE(own->says("event=privd_came")) << own->output();
  helper->signal(SIGKILL);
  ASSERT_TRUE(own->says("event=privd_went")) << own->output();
  auto stranger = plugind("other");
  helper = privd("other", "event=plugind_waits");
  EXPECT_TRUE(stranger->says("event=lease_awaited")) << stranger->output();
  own->signal(SIGKILL);
  EXPECT_TRUE(stranger->says("event=privd_came")) << stranger->output();
}

}  // namespace
}  // namespace vfiogate::test
