// kubelet-sim as a person uses it, with the real privd and plugind on a directory laid out like
// sysfs.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "tests/support/fake_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kPlugindUid = 64532;
const std::string kGpu = "vfiogate.dev/10de_2684";
const std::string kCard = "0000:01:00.0";

struct Answer {
  int code = 0;
  std::string text;
};

Answer ask(std::vector<std::string> words) {
  words.insert(words.begin(), builtProgram("kubelet-sim"));
  ChildProcess program(words);
  std::string text = program.outputWhole();
  return {program.wait(), std::move(text)};
}

class KubeletProgram : public testing::Test {
protected:
  void SetUp() override {
    chmod(dir_.path().c_str(), 0755);
    program_.emplace(
        std::vector<std::string>{builtProgram("kubelet-sim"), "run", "--dir", kubeletDir()});
    ASSERT_TRUE(program_->says("commands: ")) << program_->output();
  }

  std::string kubeletDir() const { return dir_ / "kubelet"; }
  Answer ctl(std::vector<std::string> words) const {
    words.insert(words.begin(), {"ctl", kubeletDir()});
    return ask(words);
  }
  /// A file with a pod of one container, "compute", that asks for one card.
  std::string podFile(const std::string& name) const {
    const std::string path = dir_ / (name + ".yaml");
    std::ofstream(path) << "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " << name
                        << "\nspec:\n  containers:\n  - name: compute\n    resources:\n"
                        << "      limits:\n        " << kGpu << ": 1\n";
    return path;
  }
  bool frames(std::size_t count) {
    return program_->saysAll({"frame of " + kGpu + ": 1 healthy, 0 unhealthy"}, count);
  }
  void startVfiogate() {
    hardware_.add({.address = kCard});
    for (const char* name : {"plugind"}) {
      std::filesystem::create_directory(dir_.path() / name);
    }
    ASSERT_EQ(chown((dir_ / "plugind").c_str(), kPlugindUid, kPlugindUid), 0);
    std::ofstream(dir_ / "config.yaml") << "resources: [{select: {vendor: \"10de\"}}]\n";
    const auto environment = filteredEnvironment();
    plugind_.emplace(
        std::vector<std::string>{builtProgram("plugind"), "--listen", dir_ / "plugind/plugind.sock",
                                 "--config", dir_ / "config.yaml"},
        environment);
    ASSERT_TRUE(plugind_->says("event=started")) << plugind_->output();
    privd_.emplace(
        std::vector<std::string>{
            builtProgram("privd"), "serve", "--plugind", dir_ / "plugind/plugind.sock", "--sysfs",
            hardware_.sysfs(), "--dev", hardware_.dev(), "--kubelet-dir", kubeletDir(),
            "--state-dir", dir_ / "state", "--audit-log", dir_ / "audit.jsonl", "--uevents", "off"},
        environment);
    ASSERT_TRUE(privd_->says("event=started")) << privd_->output();
    ASSERT_TRUE(frames(1)) << program_->output() << plugind_->output();
  }

  TempDir dir_;
  FakeSysfs hardware_;
  std::optional<ChildProcess> program_;
  std::optional<ChildProcess> plugind_;
  std::optional<ChildProcess> privd_;
};

/// Needs root: privd serves only as root.
class KubeletProgramWithVfiogate : public KubeletProgram {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    KubeletProgram::SetUp();
    if (!HasFatalFailure()) startVfiogate();
  }
};

TEST_F(KubeletProgramWithVfiogate, APodKeepsItsCardOverACrashOfTheKubelet) {
  EXPECT_THAT(ctl({"get", "node"}).text, HasSubstr("Allocatable:\n  " + kGpu + ":  1\n"));
  const Answer admitted = ctl({"admit", podFile("vm-1")});
  EXPECT_EQ(admitted.code, 0);
  EXPECT_THAT(admitted.text, AllOf(HasSubstr(kCard), HasSubstr("/dev/vfio/7")));
  EXPECT_EQ(ctl({"start", "vm-1", "compute"}).code, 0);
  hardware_.setEnable(kCard, 1);
  EXPECT_EQ(ctl({"crash"}).code, 0);
  EXPECT_THAT(ctl({"get", "node"}).text, HasSubstr("Ready:  Unknown"));
  const std::size_t shown = program_->count("frame of " + kGpu);
  EXPECT_EQ(ctl({"restart"}).code, 0);
  ASSERT_TRUE(program_->saysAll({"frame of " + kGpu}, shown + 1)) << program_->output();
  EXPECT_THAT(ctl({"get", "node"}).text, HasSubstr("Allocatable:\n  " + kGpu + ":  1\n"));
  EXPECT_THAT(ctl({"get", "pods", "-o", "wide"}).text,
              AllOf(HasSubstr("Running"), HasSubstr(kCard)));
  const Answer second = ctl({"admit", podFile("vm-2")});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.text, HasSubstr("UnexpectedAdmissionError"));
}

TEST_F(KubeletProgramWithVfiogate, ACardOfAPodDeletedByForceIsOfferedAndRefusedWhileItIsOpen) {
  ASSERT_EQ(ctl({"admit", podFile("vm-1")}).code, 0);
  ASSERT_EQ(ctl({"start", "vm-1", "compute"}).code, 0);
  hardware_.setEnable(kCard, 1);
  EXPECT_EQ(ctl({"delete", "vm-1", "--force"}).code, 0);
  EXPECT_THAT(ctl({"get", "pods"}).text, Not(HasSubstr("vm-1")));
  EXPECT_THAT(ctl({"get", "containers"}).text, HasSubstr("deleted by force"));
  const Answer next = ctl({"admit", podFile("vm-2")});
  EXPECT_EQ(next.code, 1) << next.text;
  EXPECT_THAT(next.text, HasSubstr("rpc error: code = ")) << "it was the plugin that refused";
  EXPECT_THAT(ctl({"get", "pods"}).text, HasSubstr("UnexpectedAdmissionError"));
}

TEST_F(KubeletProgram, AppliedPodsStartOnceTheNodeHasWhatTheyAskFor) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(ctl({"apply", podFile("vm-1")}).text, HasSubstr("waits until"));
  EXPECT_THAT(ctl({"apply", podFile("vm-2")}).text, HasSubstr("waits until"));
  startVfiogate();
  EXPECT_TRUE(program_->says("default/vm-1 compute started")) << program_->output();
  EXPECT_THAT(ctl({"get", "pods", "-o", "json"}).text,
              AllOf(HasSubstr("\"phase\": \"Running\""), HasSubstr("\"phase\": \"Pending\""),
                    HasSubstr("\"resourceID\": \"" + kCard + "\"")));
}

TEST_F(KubeletProgram, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(ctl({"dance"}).code, 2);
  EXPECT_EQ(ctl({"get", "weather"}).code, 2);
  EXPECT_EQ(ask({"run"}).code, 2);
  EXPECT_EQ(ask({"--help"}).code, 0);
  EXPECT_EQ(ask({"ctl", dir_ / "nowhere", "help"}).code, 1);
  const std::string path = dir_ / "bad.yaml";
  std::ofstream(path) << "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  volumes: []\n";
  const Answer bad = ctl({"admit", path});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.text, HasSubstr(path + ":5: \"volumes\" is no key of spec"));
}

TEST_F(KubeletProgram, APodForNobodysResourceIsRejected) {
  const Answer answer = ctl({"admit", podFile("vm-1")});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("OutOf" + kGpu));
  EXPECT_THAT(ctl({"get", "pods"}).text, HasSubstr("0/1"));
}

TEST_F(KubeletProgram, ACheckpointIsDamagedOnlyWhileTheKubeletIsDown) {
  EXPECT_EQ(ctl({"checkpoint", "lose"}).code, 1);
  EXPECT_EQ(ctl({"crash"}).code, 0);
  EXPECT_EQ(ctl({"checkpoint", "lose"}).code, 0);
  EXPECT_EQ(ctl({"boot"}).code, 0);
  EXPECT_THAT(ctl({"events"}).text, HasSubstr("the kubelet is gone"));
}

TEST_F(KubeletProgram, EndsAtASignal) {
  program_->signal(SIGTERM);
  EXPECT_EQ(program_->wait(), 0);
}

}  // namespace
}  // namespace vfiogate::test
