// deploy/try.sh and sim-node, used as a person uses them.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Ran {
  int status;
  std::string output;
};

Ran run(const std::vector<std::string>& command,
        const std::map<std::string, std::string>& environment = {}) {
  ChildProcess process(command, environment);
  const int status = process.wait();
  return {status, process.outputWhole()};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "." : value;
}

std::string source(const std::string& path) {
  return variable("VFIOGATE_SOURCE") + "/" + path;
}

Ran tryIt(const std::map<std::string, std::string>& environment = {}) {
  return run({source("deploy/try.sh"), "--programs", variable("VFIOGATE_BIN")}, environment);
}

class Try : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "needs /dev/fuse";
  }
};

TEST_F(Try, ShowsEachStepWithWhatWasObservedAndEndsByItself) {
  const Ran tour = tryIt();
  EXPECT_EQ(tour.status, 0) << tour.output;
  EXPECT_THAT(tour.output, HasSubstr("group 12 0000:01:00.0 passable"));
  EXPECT_THAT(
      tour.output,
      HasSubstr("vfiogate.dev/10de_2684 [0000:01:00.0 Healthy numa 0, 0000:02:00.0 Healthy"));
  EXPECT_THAT(tour.output, HasSubstr("/dev/vfio/vfio /dev/vfio/1"));
  EXPECT_THAT(tour.output, HasSubstr("vfiogate.dev/second-slot [0000:04:02.0 Unhealthy"));
  EXPECT_THAT(tour.output, HasSubstr("group-allocated"));
  EXPECT_THAT(tour.output,
              HasSubstr(" s after the end: vfiogate.dev/8086_100e [0000:04:01.0 Healthy"));
  EXPECT_THAT(tour.output, HasSubstr("7 of 7 steps seen"));
  EXPECT_THAT(tour.output, Not(HasSubstr("\033["))) << "colours are for terminals";
}

class TryBroken : public Try, public testing::WithParamInterface<const char*> {};

TEST_P(TryBroken, EachStepFailsWithoutWhatBringsItAbout) {
  const std::string step = GetParam();
  const Ran tour = tryIt({{"VFIOGATE_TRY_BREAK", step}});
  EXPECT_EQ(tour.status, 1) << tour.output;
  EXPECT_THAT(tour.output, HasSubstr("try: step " + step + " was not seen"));
}

INSTANTIATE_TEST_SUITE_P(Steps, TryBroken,
                         testing::Values("groups", "registered", "bound-late", "new-model",
                                         "allocated", "withdrawn", "released"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(Try, AStepThatDoesNotExistIsRefusedWithThoseThatDo) {
  const Ran tour = tryIt({{"VFIOGATE_TRY_BREAK", "lunch"}});
  EXPECT_EQ(tour.status, 1);
  EXPECT_THAT(tour.output, HasSubstr("no step \"lunch\"; there are groups registered"));
}

TEST_F(Try, WithoutFuseItSaysWhatIsMissingAndWhatWorks) {
  const Ran tour = run({"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                        "mount -t tmpfs none /dev && exec " + source("deploy/try.sh")});
  EXPECT_EQ(tour.status, 1);
  EXPECT_THAT(tour.output, HasSubstr("no /dev/fuse: load the module (modprobe fuse)"));
  EXPECT_THAT(tour.output, HasSubstr("What works without: deploy/try.sh --vm"));
}

TEST_F(Try, WithoutQemuItSaysWhatIsMissingAndWhatWorks) {
  const TempDir tools;  // all that the script uses, but no qemu
  for (const char* tool : {"dirname", "id", "bash"}) {
    std::filesystem::create_symlink(std::string("/usr/bin/") + tool, tools / tool);
  }
  const Ran tour =
      run({source("deploy/try.sh"), "--vm", "--programs", "."}, {{"PATH", tools.path().string()}});
  EXPECT_EQ(tour.status, 1);
  EXPECT_THAT(tour.output, HasSubstr("no qemu-system-x86_64: apt-get install qemu-system-x86"));
  EXPECT_THAT(tour.output, HasSubstr("What works without: deploy/try.sh on simulated hardware"));
}

/// A node that stays up, and commands from elsewhere.
class SimNodeUp : public Try {
protected:
  void SetUp() override {
    Try::SetUp();
    if (IsSkipped()) return;
    chmod(places_.path().c_str(), 0755);  // plugind, as nobody, must reach its own directory
    node_.emplace(std::vector<std::string>{
        builtProgram("sim-node"), "up", "--dir", places_ / "node", "--topology",
        source("tests/topologies/try.yaml"), "--config", source("deploy/examples/try.yaml")});
    ASSERT_TRUE(node_->says("commands: sim-node ctl")) << node_->output();
    ASSERT_TRUE(node_->says("event=stream_opened resource=vfiogate.dev/10de_2684"));
  }
  /// As a person ends it: killed it could not end what it started.
  void TearDown() override {
    if (!node_) return;
    node_->signal(SIGTERM);
    EXPECT_EQ(node_->wait(), 0);
  }
  Ran tell(const std::vector<std::string>& words) {
    std::vector<std::string> command{builtProgram("sim-node"), "ctl", places_ / "node"};
    command.insert(command.end(), words.begin(), words.end());
    return run(command);
  }
  /// True as soon as the kubelet counts so many cards: plugind says that a frame is out before the
  /// kubelet has read it.
  bool hasCards(unsigned allocatable) {
    const std::regex row("10de_2684 +2 +" + std::to_string(allocatable) + " ");
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      if (std::regex_search(tell({"show"}).output, row)) return true;
    }
    return false;
  }
  TempDir places_;
  std::optional<ChildProcess> node_;
};

TEST_F(SimNodeUp, HardwareAndPodsChangeWhileItRuns) {
  EXPECT_EQ(tell({"bind", "0000:02:00.0", "vfio-pci"}).output, "ok\n");
  ASSERT_TRUE(node_->says("event=frame_shown resource=vfiogate.dev/10de_2684 devices=2 healthy=2"))
      << node_->output();
  ASSERT_TRUE(hasCards(2)) << tell({"show"}).output;
  const Ran pods = tell({"run", "vm-1", "vfiogate.dev/10de_2684=2"});
  EXPECT_EQ(pods.status, 0) << pods.output << node_->output();
  EXPECT_THAT(pods.output, HasSubstr("/dev/vfio/12 /dev/vfio/13"));
  EXPECT_THAT(pods.output, HasSubstr("started"));
  const Ran refused = tell({"run", "vm-2", "vfiogate.dev/10de_2684"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, HasSubstr("error:"));
  EXPECT_THAT(tell({"show"}).output, HasSubstr("vfiogate.dev/10de_2684"));
  EXPECT_EQ(tell({"restart", "privd"}).output, "ok\n");
}

TEST_F(SimNodeUp, ACommandThatMakesNoSenseIsRefusedWithWhatWould) {
  EXPECT_THAT(tell({"run", "vm-1"}).output, HasSubstr("run is used so: run POD RESOURCE[=COUNT]"));
  EXPECT_THAT(tell({"run", "vm-1", "gpu=x"}).output, HasSubstr("not RESOURCE or RESOURCE=COUNT"));
  EXPECT_THAT(tell({"explode"}).output, HasSubstr("\"explode\" is no command; `help` lists them"));
  EXPECT_THAT(tell({"help"}).output, HasSubstr("unplug ADDRESS..."));
}

TEST_F(SimNodeUp, EndsOnASignalAndLeavesNoMount) {
  node_->signal(SIGTERM);
  EXPECT_EQ(node_->wait(), 0);
  EXPECT_EQ(tell({"show"}).status, 1);
}

TEST(SimNode, ATopologyWithAnErrorIsRefusedWithLineAndReason) {
  const TempDir places;
  std::ofstream(places / "bad.yaml") << "devices:\n  - {address: \"0000:01:00.0\", id: gpu}\n";
  const Ran node = run({builtProgram("sim-node"), "up", "--dir", places / "node", "--topology",
                        places / "bad.yaml", "--config", source("deploy/examples/try.yaml")});
  EXPECT_EQ(node.status, 1);
  EXPECT_THAT(node.output, HasSubstr("bad.yaml:2: "));
}

}  // namespace
}  // namespace vfiogate::test
