// The shipped programs where descriptors, memory, threads or references run out: each says so in a
// line, once, and serves on or ends.

#include "sim/base/process_status.h"
#include "tests/integration/netd_case.h"
#include "tests/support/process_limits.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>
#include <kj/io.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace vfiogate::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::string kA = "0000:01:00.0";

/// Descriptors of root's that are sent and not yet taken, by a process that may (so this needs
/// CAP_SYS_RESOURCE), until destroyed.
class UnderWay {
public:
  explicit UnderWay(std::size_t count) {
    while (sent_ < count) send();
  }

  std::size_t sent() const { return sent_; }

private:
  static constexpr std::size_t kInAMessage = 250;  // the kernel takes 253

  void send() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("?");
    ends_.emplace_back(pair[0]);
    ends_.emplace_back(pair[1]);
    std::vector<char> control(CMSG_SPACE(kInAMessage * sizeof(int)));
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(kInAMessage * sizeof(int));
    // Of sockets: only those count.
    std::fill_n(reinterpret_cast<int*>(CMSG_DATA(header)), kInAMessage, pair[0]);
    if (sendmsg(pair[0], &message, MSG_DONTWAIT) < 0) throw std::runtime_error("not sent");
    sent_ += kInAMessage;
  }

  std::vector<kj::AutoCloseFd> ends_;
  std::size_t sent_ = 0;
};

class Starved : public NetdCase {
protected:
  static constexpr uid_t kHardwareUid = 64531;
  static constexpr rlim_t kGateAwaits = 4;  // ppoll() refuses to wait for more than the limit
  /// Of privd's.
  pid_t role(const std::string& name) const {
    return childRunning(node_->privd->pid(), "privd-" + name);
  }
  void startWithBinder() {
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
    ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << node_->said();
    ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA})) << node_->said();
    ASSERT_GT(role("binder"), 0) << node_->said();
  }
  /// From here on an Allocate needs nothing of the kubelet's, only its record.
  void adopt() {
    std::string refused;
    node_->kubelet.offer(kGpus, {"0000:ff:00.0"}, refused);
    ASSERT_TRUE(node_->plugind->says("ledger-adopted")) << refused << node_->said();
  }
  /// As a service manager may start it.
  void limit(const std::string& program, const std::string& option) {
    node_->starters[program] = {"/usr/bin/prlimit", option, "--"};
  }
  static std::vector<kj::AutoCloseFd> dial(const std::string& path, std::size_t count, uid_t uid) {
    std::vector<kj::AutoCloseFd> connections;
    const uid_t before = geteuid();
    for (std::size_t i = 0; i < count; ++i) {
      connections.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      path.copy(address.sun_path, sizeof(address.sun_path) - 1);
      if (seteuid(uid) != 0) throw std::runtime_error("seteuid");
      // Those beyond the backlog are not taken now; that is enough of them.
      [[maybe_unused]] const int full =
          connect(connections.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
      if (seteuid(before) != 0) throw std::runtime_error("seteuid");
    }
    return connections;
  }
};

TEST_F(Starved, OfDescriptorsNetdSaysItOnceAndServesOn) {
  limit("netd", "--nofile=24");
  startAll();
  EXPECT_TRUE(node_->netd->says("event=limit_lower what=descriptors")) << node_->said();
  {
    std::vector<HttpConnection> clients;
    for (int i = 0; i < 40; ++i) clients.emplace_back(port());
    ASSERT_TRUE(node_->netd->says("event=accept_failed")) << node_->said();
    // For longer than it takes to try again.
    poll(nullptr, 0, 2500);
    EXPECT_EQ(node_->netd->count("event=accept_failed"), 1U) << node_->said();
  }
  EXPECT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
}

TEST_F(Starved, OfDescriptorsPlugindSaysItOnceAndServesOn) {
  startAll();
  leaveRoomForThree(node_->plugind->pid(), kPlugindUid);
  {
    const auto commands = dial(node_->plugindSocket(), 8, kPlugindUid);
    const auto netds = dial(node_->plugindSocket(), 8, kNetdUid);
    ASSERT_TRUE(node_->plugind->says("event=accept_failed")) << node_->said();
    poll(nullptr, 0, 2500);
    EXPECT_EQ(node_->plugind->count("event=accept_failed"), 1U) << node_->said();
  }
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
}

// Nobody connects to them, so three are enough.
TEST_F(Starved, OfDescriptorsPrivdServesOn) {
  startAll();
  leaveRoomForThree(node_->privd->pid(), 0);
  leaveRoomForThree(role("gate"), 0);
  leaveRoomForThree(role("hardware"), kHardwareUid);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
}

// It binds nothing here: what it sees of the hardware is told.
TEST_F(Starved, OfDescriptorsTheBinderServesOn) {
  startWithBinder();
  leaveRoomForThree(role("binder"), 0);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  EXPECT_GT(role("binder"), 0) << node_->said();
}

TEST_F(Starved, OfEveryDescriptorTheBinderSaysItAndIsWellAgain) {
  startWithBinder();
  const rlim_t before = limitDescriptors(role("binder"), 0, 0);
  ASSERT_TRUE(node_->privd->says("event=scan_failed"))
      << node_->said();  // the hardware process has all of its own
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  limitDescriptors(role("binder"), 0, before);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_GT(role("binder"), 0) << node_->said();
}

// Either the allocation cannot be recorded, or the gate heard of a changed file before: then it
// cannot tell what is excluded either, and plugind allocates nothing without that.
TEST_F(Starved, OfEveryDescriptorTheGateAllocatesNothingAndServesWhenItHasThem) {
  startAll();
  adopt();
  const rlim_t before = limitDescriptors(role("gate"), 0, kGateAwaits);
  const auto refused = node_->kubelet.admit(podOf("p1", kGpus));
  EXPECT_FALSE(refused.admitted) << node_->said();
  EXPECT_THAT(refused.message, AnyOf(HasSubstr("not-recorded"), HasSubstr("privd-away")))
      << node_->said();
  const bool isAway = refused.message.find("privd-away") != std::string::npos;
  EXPECT_TRUE(isAway || node_->privd->says("event=record_failed")) << node_->said();
  limitDescriptors(role("gate"), 0, before);
  EXPECT_TRUE(node_->kubelet.await(kGpus, [](const sim::DeviceTable& shown) {
    return shown.healthy().contains(kA);
  })) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p2", kGpus)).admitted) << node_->said();
}

TEST_F(Starved, OfEveryDescriptorTheGateTellsNoExclusionAndWhatIsExcludedIsNotAllocated) {
  startAll();
  const rlim_t before = limitDescriptors(role("gate"), 0, kGateAwaits);
  std::ofstream(node_->directory("state/holds/" + kA)) << "reason=mine\n";
  EXPECT_TRUE(node_->plugind->says("what is excluded: Too many open files")) << node_->said();
  EXPECT_FALSE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  limitDescriptors(role("gate"), 0, before);
  EXPECT_TRUE(node_->plugind->saysAll({"event=privd_came"}, 2)) << node_->said();
  EXPECT_FALSE(node_->kubelet.admit(podOf("p2", kGpus)).admitted) << node_->said();
  std::filesystem::remove(node_->directory("state/holds/" + kA));
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p3", kGpus)).admitted) << node_->said();
}

TEST_F(Starved, OfEveryDescriptorPrivdSaysItAndLosesNoDevice) {
  startAll();
  const rlim_t before = limitDescriptors(role("hardware"), kHardwareUid, 0);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  ASSERT_TRUE(node_->privd->says("event=scan_failed")) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA})) << node_->said();
  limitDescriptors(role("hardware"), kHardwareUid, before);
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
}

// The kernel counts what any process of root's has under way; a low limit lets the test reach it
// without any other process of the machine's noticing.
class StarvedOfReferences : public Starved {
protected:
  static constexpr std::size_t kEnough = 500;
  void SetUp() override {
    Starved::SetUp();
    if (!IsSkipped()) limit("privd", "--nofile=200");
  }
};

TEST_F(StarvedOfReferences, PrivdSaysSoServesOnAndSendsWhenTheyAreFreed) {
  startAll();
  EXPECT_TRUE(node_->privd->says("event=limit_lower what=descriptors")) << node_->said();
  auto underWay = std::make_unique<UnderWay>(kEnough);
  // A new resource needs a socket of privd's making.
  node_->hardware.add({.address = "0000:02:00.0", .device = 0x1572, .group = 8});
  ASSERT_TRUE(node_->privd->says("event=descriptor_not_sent")) << node_->said();
  EXPECT_THAT(node_->privd->output(), HasSubstr("too many references"));
  // Others are served meanwhile, and what needs no descriptor goes on.
  node_->hardware.add({.address = "0000:03:00.0", .group = 9});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:03:00.0"})) << node_->said();
  underWay.reset();
  EXPECT_TRUE(node_->kubelet.shows("vfiogate.dev/10de_1572", {"0000:02:00.0"})) << node_->said();
}

TEST_F(StarvedOfReferences, PlugindIsDialledAgainUntilTheyAreFreed) {
  auto underWay = std::make_unique<UnderWay>(kEnough);
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  EXPECT_TRUE(node_->privd->saysAll({"event=plugind_refused", "Too many references"}))
      << node_->said();
  underWay.reset();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA})) << node_->said();
}

TEST_F(Starved, OfThreadsAtItsStartPlugindSaysItAndEnds) {
  limit("plugind", "--nproc=1");
  node_->kubelet.start();
  // What it needs threads for comes when it serves the kubelet, or before.
  node_->startPlugind(kConfig);
  node_->startPrivd();
  EXPECT_TRUE(node_->plugind->says("event=out_of_threads")) << node_->said();
  EXPECT_EQ(node_->plugind->wait(), 1) << node_->said();
}

/// Processes of plugind's user that are none of ours, as of a pod that chose that user, until
/// destroyed. RLIMIT_NPROC would count them.
class Tenant {
public:
  explicit Tenant(int processes) {
    if (pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    leader_ = fork();
    if (leader_ == 0) {
      close(ends_[1]);
      const bool becomes = setresgid(kPlugindUid, kPlugindUid, kPlugindUid) == 0 &&
                           setresuid(kPlugindUid, kPlugindUid, kPlugindUid) == 0;
      for (int i = 1; becomes && i < processes; ++i) {
        if (fork() <= 0) break;
      }
      char byte = 0;
      [[maybe_unused]] const ssize_t ended = read(ends_[0], &byte, 1);
      _exit(becomes ? 0 : 1);
    }
    close(ends_[0]);
  }
  ~Tenant() {
    close(ends_[1]);
    waitpid(leader_, nullptr, 0);
  }
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  /// Of all processes there are.
  static int count() {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      struct stat status {};
      const bool number = std::isdigit(entry.path().filename().string()[0]) != 0;
      found += number && stat(entry.path().c_str(), &status) == 0 && status.st_uid == kPlugindUid;
    }
    return found;
  }

private:
  int ends_[2];
  pid_t leader_ = -1;
};

TEST_F(Starved, ATenantWhoChoosesPlugindsUserTakesNoThreadOfIts) {
  constexpr int kProcesses = 600;
  startAll();
  const Tenant tenant(kProcesses);
  // They are there as soon as the last one was forked.
  for (int i = 0; i < 6000 && Tenant::count() < kProcesses; ++i) poll(nullptr, 0, 10);
  ASSERT_GE(Tenant::count(), kProcesses);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  node_->killPlugind();
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_EQ(node_->plugind->count("event=out_of_threads"), 0U) << node_->said();
}

// Whoever has the right to may still lower it. What runs goes on, and the rest is refused.
TEST_F(Starved, OfThreadsPlugindServesOn) {
  startAll();
  lowerLimit(node_->plugind->pid(), kPlugindUid, RLIMIT_NPROC, 1);
  node_->hardware.add({.address = "0000:02:00.0", .group = 8});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  node_->kubelet.restart({});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, "0000:02:00.0"})) << node_->said();
}

TEST_F(Starved, OfMemoryPrivdSaysItAndEnds) {
  if (!kOwnAllocator) GTEST_SKIP() << "a sanitizer's allocator has its own last words";
  for (int i = 0; i < 700; ++i) {
    node_->hardware.add({.address = "0000:" + std::to_string(10 + i / 32) + ":" +
                                    (i % 32 < 16 ? "0" : "1") + "0123456789abcdef"[i % 16] + ".0",
                         .group = 100 + i});
  }
  limit("privd", "--data=1000000");
  node_->startPrivd();
  EXPECT_TRUE(node_->privd->says("event=out_of_memory")) << node_->said();
  EXPECT_EQ(node_->privd->wait(), 1) << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
