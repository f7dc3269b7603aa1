// That privd, its fork server and plugind need each row of their tables that is not defensive, and
// no other call: the shipped programs live a whole life with their filter taken out, and each call
// is compared with the table. The like for netd is with netd's other tests.

#include "ipc/socket/unix_socket.h"
#include "sim/base/process_status.h"
#include "sim/sysfs/sim_process.h"
#include "tests/integration/split_case.h"
#include "tests/support/bind_node.h"

#include <gmock/gmock.h>

#include <kj/debug.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string kCards = "vfiogate.dev/cards";
const std::string kAlone = "0000:01:00.0";
const std::string kFirst = "0000:03:01.0";

class EveryRow : public SplitCase {
protected:
  ~EveryRow() noexcept override = default;

  void SetUp() override {
    if (!enterOwnNamespaces()) GTEST_SKIP() << "needs root and /dev/fuse";
    SplitCase::SetUp();
    const char* const source = std::getenv("VFIOGATE_SOURCE");
    fs::create_directory(node_->directory("hardware"));
    auto started =
        sim::SimProcess::start({.program = builtProgram("sim-sysfs"),
                                .topology = std::string(source == nullptr ? "." : source) +
                                            "/tests/topologies/two-in-group.yaml",
                                .directory = node_->directory("hardware"),
                                .control = node_->directory("hardware.ctl"),
                                .uevents = "on",
                                .nodes = "open"});
    ASSERT_TRUE(started) << started.error();
    sim_ = std::move(started).value();
  }
  void layOut(FakeSysfs& /*hardware*/) override {}
  void TearDown() override {
    SplitCase::TearDown();
    node_.reset();
    sim_.reset();
  }

  /// From now on the program's calls are counted.
  void trace(const std::string& program) {
    node_->starters[program] = {fs::read_symlink("/proc/self/exe").parent_path() / "trace_calls",
                                program};
  }

  static std::string config(const std::string& keys) {
    return "resources:\n  - {name: " + kCards +
           ", select: {vendor: \"8086\"}, bind: on-allocate, returnTo: original" + keys +
           "}\nallocateWait: 10s\n";  // a traced process is slow
  }
  void configure(const std::string& keys) {
    const std::string path = node_->directory("posted.yaml");
    std::ofstream(path + ".new") << config(keys);
    fs::rename(path + ".new", path);
  }
  void startPlugind() { ASSERT_TRUE(node_->startPlugind(config(", inject: cdi"))) << said(); }
  void startPrivd() {
    ASSERT_TRUE(node_->startPrivd({"--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--uevents",
                                   "on", "--plugind-rights", "watch,kubelet,bind,cdi", "--cdi-dir",
                                   node_->directory("cdi"), "--allow", "vendor=8086",
                                   "--plugind-config", node_->directory("posted.yaml")}))
        << said();
  }
  std::string operate(std::vector<std::string> words) {
    words.insert(words.begin(), builtProgram("privd"));
    words.insert(words.end(), {"--socket", node_->privdSocket()});
    ChildProcess process(words, programEnvironment());
    std::string text = process.outputWhole();
    EXPECT_EQ(process.wait(), 0) << text << said();
    return text;
  }
  bool shows(const std::set<std::string>& healthy, const std::set<std::string>& unhealthy = {}) {
    return node_->kubelet.shows(kCards, healthy, unhealthy);
  }
  std::string said() { return node_->said(); }

  void serve() {
    configure(", inject: cdi");
    node_->kubelet.start();
    startPlugind();
    startPrivd();
    ASSERT_TRUE(shows({kAlone, kFirst})) << said();
  }
  /// Pods, operators, hardware and configuration.
  void work() {
    const auto pod = node_->kubelet.admit(podOf("pod-1", kCards));
    ASSERT_TRUE(pod.admitted) << pod.message << said();
    EXPECT_EQ(node_->kubelet.startContainer("pod-1", "compute").error, "") << said();
    const std::string allocated = pod.granted.back().ids.at(0);
    const std::string other = allocated == kAlone ? kFirst : kAlone;
    operate({"bind", other});
    operate({"unbind", other});
    operate({"hold", other, "--reason", "fan"});
    ASSERT_TRUE(shows({allocated}, {other})) << said();
    operate({"release", other});
    ASSERT_TRUE(shows({allocated, other})) << said();
    configure("");
    ASSERT_TRUE(node_->plugind->says("event=config_applied")) << said();
    node_->kubelet.restart();
    ASSERT_TRUE(node_->kubelet.awaitRegistrations(kCards, 1)) << said();
  }
  /// A visitor says that it is done, and stays to hear privd out.
  void visitPrivdAndHalfHangUp() {
    auto dialled = dialAt(node_->privdSocket().c_str());
    ASSERT_TRUE(dialled);
    shutdown(dialled->get(), SHUT_WR);
    std::array<char, 4096> heard{};
    ssize_t size = 1;
    while (size > 0) {
      pollfd readable{.fd = dialled->get(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&readable, 1, 30'000), 1);
      size = read(dialled->get(), heard.data(), heard.size());
    }
  }
  /// The directory that privd watches is elsewhere for a moment, and the kubelet away.
  void moveKubeletsDirectory() {
    const std::string plugins = node_->directory("kubelet/device-plugins");
    node_->kubelet.stop();
    fs::rename(plugins, plugins + ".away");
    fs::rename(plugins + ".away", plugins);
    node_->kubelet.start();
    ASSERT_TRUE(node_->kubelet.awaitRegistrations(kCards, 1)) << said();
  }
  /// Each thread of the process behind the tracer is taken out of its wait, as by a stop and a
  /// continuation, and goes back into it.
  static void interrupt(const ChildProcess& tracer) {
    const auto traced = childrenOf(tracer.pid());
    ASSERT_EQ(traced.size(), 1U);
    for (const auto& [thread, status] : threadStatuses(traced[0])) {
      syscall(SYS_tgkill, traced[0], thread, SIGCONT);
    }
  }
  /// Ends it in good order; what it was counted to do.
  std::string tallyOf(std::optional<ChildProcess>& process) {
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 0) << "a call without a row: " << process->output();
    return process->outputWhole();
  }
  static void expectAllNeeded(const std::string& tally) {
    EXPECT_THAT(tally, HasSubstr("epoll_wait"));
    EXPECT_THAT(tally, Not(HasSubstr("UNUSED"))) << tally;
    EXPECT_THAT(tally, Not(HasSubstr("NEEDLESS"))) << tally;
  }

  std::unique_ptr<sim::SimProcess> sim_;
};

TEST_F(EveryRow, OfPrivdAndItsForkServerIsNeededOrDefensiveAndNoOther) {
  trace("privd");
  serve();
  work();
  visitPrivdAndHalfHangUp();
  interrupt(*node_->privd);
  moveKubeletsDirectory();
  node_->killPlugind();
  startPlugind();
  ASSERT_TRUE(node_->plugind->says("event=frame_shown")) << said();
  expectAllNeeded(tallyOf(node_->privd));
}

TEST_F(EveryRow, OfPlugindIsNeededOrDefensiveAndNoOther) {
  trace("plugind");
  serve();
  work();
  interrupt(*node_->plugind);
  node_->killPrivd();
  startPrivd();
  expectAllNeeded(tallyOf(node_->plugind));
}

}  // namespace
}  // namespace vfiogate::test
