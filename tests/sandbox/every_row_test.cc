// That privd's processes, the binder's fork server and plugind need each row of their tables that
// is not defensive, and no other call: the shipped programs live a whole life with their filter
// taken out, and each call is compared with the table. The like for netd is with netd's other
// tests.

#include "ipc/gate/opening.h"
#include "sim/base/process_status.h"
#include "tests/integration/bind/sim_split_case.h"
#include "tests/support/bind_node.h"
#include "tests/support/played/stranger.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>
#include <kj/io.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string kAlone = "0000:01:00.0";
const std::string kFirst = "0000:03:01.0";
const std::string kSecond = "0000:03:02.0";

std::set<std::string> groupOf(const std::string& device) {
  if (device == kAlone) return {kAlone};
  return {kFirst, kSecond};
}

class EveryRow : public SimSplitCase {
protected:
  EveryRow() : SimSplitCase("two-in-group.yaml", "on") {}
  ~EveryRow() noexcept override = default;

  /// From now on the program's calls are counted.
  void trace(const std::string& program) {
    node_->starters[program] = {fs::read_symlink("/proc/self/exe").parent_path() / "trace_calls",
                                program};
  }

  static std::string config(const std::string& keys) {
    // The card that is alone in its group is asked for its number.
    return "exclude:\n  - {vendor: \"8086\", serial: of another}\nresources:\n  - {name: " +
           kCards + ", select: {vendor: \"8086\"}, bind: on-allocate, returnTo: original" + keys +
           "}\nallocateWait: 10s\n";  // a traced process is slow
  }
  /// Its directory comes with it: nobody can have watched that from the start.
  void postConfig(const std::string& keys) {
    const std::string path = node_->directory("posted/plugind.yaml");
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path + ".new") << config(keys);
    fs::rename(path + ".new", path);
  }
  void startPlugind() { ASSERT_TRUE(node_->startPlugind(config(", inject: cdi"))) << said(); }
  void startPrivd() {
    ASSERT_TRUE(node_->startPrivd({"--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--uevents",
                                   "on", "--plugind-rights", "watch,kubelet,bind,cdi", "--cdi-dir",
                                   node_->directory("cdi"), "--allow", "vendor=8086",
                                   "--plugind-config", node_->directory("posted/plugind.yaml")}))
        << said();
  }
  std::string operate(std::vector<std::string> words) {
    words.insert(words.begin(), builtProgram("privd"));
    words.insert(words.end(),
                 {"--sysfs", sim_->sysfs(), "--dev", sim_->dev(), "--state-dir",
                  node_->directory("state"), "--audit-log", node_->directory("audit.jsonl")});
    ChildProcess process(words, filteredEnvironment());
    std::string text = process.outputWhole();
    EXPECT_EQ(process.wait(), 0) << text << said();
    return text;
  }
  /// Healthy are these; `unhealthy` is not, and maybe others: of a group whose members were bound
  /// one after the other, and seen so, more than one is shown.
  bool showsAtLeast(const std::set<std::string>& healthy, const std::set<std::string>& unhealthy) {
    return node_->kubelet.await(kCards, [&](const sim::DeviceTable& shown) {
      return shown.healthy() == healthy && std::ranges::includes(shown.unhealthy(), unhealthy);
    });
  }
  /// Healthy are this one and one of the free group's: whichever took over meanwhile stays
  /// (ledger.md 8).
  bool showsOneBeside(const std::string& allocated, const std::set<std::string>& group) {
    return node_->kubelet.await(kCards, [&](const sim::DeviceTable& shown) {
      return std::ranges::any_of(group, [&](const std::string& id) {
        return shown.healthy() == std::set<std::string>{allocated, id};
      });
    });
  }
  std::string said() { return node_->said(); }

  void serve() {
    node_->kubelet.start();
    startPlugind();
    startPrivd();
    ASSERT_TRUE(node_->kubelet.shows(kCards, {kAlone, kFirst})) << said();
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
    ASSERT_TRUE(node_->plugind->says("operator-excluded")) << said();
    ASSERT_TRUE(showsAtLeast({allocated}, {other})) << said();
    operate({"release", other});
    ASSERT_TRUE(showsOneBeside(allocated, groupOf(other))) << said();
    postConfig("");
    ASSERT_TRUE(node_->plugind->says("event=config_applied")) << said();
    node_->kubelet.restart();
    ASSERT_TRUE(node_->kubelet.awaitRegistrations(kCards, 1)) << said();
  }
  /// A plugind that says to each of privd's processes at once that it is done, and stays to hear it
  /// out, until that was privd-hardware.
  void playAPlugindThatHalfHangsUp() {
    const std::string path = node_->plugindSocket();
    const auto play = [&path]() {
      unlink(path.c_str());
      alarm(60);
      umask(0111);  // privd's users dial it
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      path.copy(address.sun_path, sizeof(address.sun_path) - 1);
      const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return errno;
      if (listen(listener, 8) != 0) return errno;
      for (char role = -1; role != static_cast<char>(PrivdRole::kHardware);) {
        const kj::AutoCloseFd dialled(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (read(dialled, &role, 1) != 1) return errno;
        if (shutdown(dialled, SHUT_WR) != 0) return errno;
        char heard[4096];
        ssize_t size = 1;
        while (size > 0) size = read(dialled, heard, sizeof(heard));
        if (size < 0) return errno;
      }
      return 0;
    };
    EXPECT_EQ(asUser(kPlugindUid, play), 0) << said();
  }
  /// The group goes back to the driver that it had.
  void endPod() {
    node_->kubelet.end("pod-1");
    ASSERT_TRUE(node_->privd->saysAll({"event=driver_change", "operation=unbind"})) << said();
  }
  /// A directory that is watched is elsewhere for a moment.
  void move(const std::string& directory) {
    const std::string path = node_->directory(directory);
    fs::rename(path, path + ".away");
    fs::rename(path + ".away", path);
  }
  void moveKubeletsDirectory() {
    node_->kubelet.stop();
    move("kubelet/device-plugins");
    node_->kubelet.start();
    ASSERT_TRUE(node_->kubelet.awaitRegistrations(kCards, 1)) << said();
  }
  /// Each thread of the processes behind the tracer is taken out of its wait, as by a stop and a
  /// continuation, and goes back into it.
  static void interrupt(const ChildProcess& tracer) {
    const auto traced = childrenOf(tracer.pid());
    ASSERT_EQ(traced.size(), 1U);
    auto all = childrenOf(traced[0]);  // of privd's daemon
    all.push_back(traced[0]);
    for (const pid_t process : all) {
      for (const auto& [thread, status] : threadStatuses(process)) {
        syscall(SYS_tgkill, process, thread, SIGCONT);
      }
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
    if (kWatchesThreads) GTEST_SKIP() << "ThreadSanitizer waits in ways of its own";
    EXPECT_THAT(tally, Not(HasSubstr("UNUSED"))) << tally;
    EXPECT_THAT(tally, Not(HasSubstr("NEEDLESS"))) << tally;
  }
};

TEST_F(EveryRow, OfEachOfPrivdsProcessesIsNeededOrDefensiveAndNoOther) {
  trace("privd");
  serve();
  work();
  endPod();
  interrupt(*node_->privd);
  moveKubeletsDirectory();
  node_->killPlugind();
  move("plugind");
  playAPlugindThatHalfHangsUp();
  startPlugind();
  ASSERT_TRUE(node_->plugind->says("event=frame_shown")) << said();
  const std::string tally = tallyOf(node_->privd);
  expectAllNeeded(tally);
  EXPECT_THAT(tally, HasSubstr("clone, flags are SIGCHLD"));
  EXPECT_THAT(tally, HasSubstr("ppoll"));
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
